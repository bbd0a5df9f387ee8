"""`python -m benchmarks`: run benchmarks, write their rows, render RESULTS.md and a page."""

import argparse
import logging
import os
import sys
import time
from pathlib import Path

from forge_ugc.evaluation.peers.workers import FOREIGN

_HERE = Path(__file__).parent


def main(arguments: list[str] | None = None) -> int:
    """Run the command; 0 unless a benchmark that was named cannot run."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", metavar="NAME", nargs="*", help="benchmarks to run (all)")
    parser.add_argument("--list", action="store_true", help="list the benchmarks and stop")
    parser.add_argument(
        "--json", metavar="DIR", type=Path,
        help="folder for rows and RESULTS.md (benchmarks/results, RESULTS.md above it)",
    )  # fmt: skip
    parser.add_argument(
        "--quick", action="store_true", help="few repeats; writes nothing without --json"
    )
    for name, what in (("models", "gpt2,smollm2"), ("precisions", "fp32,bf16")):
        parser.add_argument(
            f"--{name}", metavar="A,B", type=_names, default=(),
            help=f"only these of a benchmark's {name} ({what}); writes nothing without --json",
        )  # fmt: skip
    parser.add_argument(
        "--layers", metavar="N", type=int,
        help="models cut to N layers, to try a benchmark; writes nothing without --json",
    )  # fmt: skip
    parser.add_argument(
        "--render", action="store_true", help="only write RESULTS.md and RESULTS.html again"
    )
    options = parser.parse_args(arguments)

    from benchmarks.core.benchmark import registered

    known = registered()
    if options.list:
        for name, cls in known.items():
            print(f"{name:16} {cls.title}")
        return 0
    unknown = [name for name in options.names if name not in known]
    if unknown:
        parser.error(f"no benchmark is called {unknown[0]!r}; choose from {', '.join(known)}")
    folder = options.json or _HERE / "results"
    document = (options.json or _HERE) / "RESULTS.md"
    skipped = 0 if options.render else _run(options, folder)
    if not _partial(options) or options.json:
        _render(folder, document)
    return 1 if skipped and options.names else 0


def _names(text: str) -> tuple[str, ...]:
    return tuple(filter(None, text.split(",")))


def _partial(options: argparse.Namespace) -> bool:
    """True if the figures are not those that RESULTS.md is to show."""
    return bool(options.quick or options.layers or options.models or options.precisions)


def _run(options: argparse.Namespace, folder: Path) -> int:
    """Run the chosen benchmarks and write their rows; how many could not run."""
    from benchmarks.core import environment, render, results
    from benchmarks.core.benchmark import Settings, SkippedError, registered

    logging.disable(logging.WARNING)
    setup, skipped = environment.current(), 0
    settings = Settings(
        quick=options.quick, say=lambda text: print(f"  {text}", flush=True),
        layers=options.layers, models=options.models, precisions=options.precisions,
    )  # fmt: skip
    for name in options.names or registered():
        cls = registered()[name]
        print(f"{name}: {cls.title}", flush=True)
        start = time.perf_counter()
        keep = not _partial(options) or options.json
        found = results.Results(setup, ())
        try:
            for row in cls().run(settings):
                found = results.Results(setup, (*found.measurements, row))
                if keep:  # at once: a long run that is cut short keeps what it has
                    folder.mkdir(parents=True, exist_ok=True)
                    (folder / f"{name}.json").write_text(results.dump(found), encoding="utf-8")
        except SkippedError as reason:
            print(f"  skipped: {reason}\n", flush=True)
            skipped += 1
            continue
        print(f"  done in {time.perf_counter() - start:.0f} s\n", flush=True)
        if _partial(options):
            print(render.render({name: found}, registered()))
    return skipped


def _render(folder: Path, document: Path) -> None:
    from benchmarks.core import page, render, results
    from benchmarks.core.benchmark import registered

    found = results.read_all(folder, tuple(registered()))
    document.write_text(render.render(found, registered()), encoding="utf-8")
    html = document.with_suffix(".html")
    html.write_text(page.results_page(found, registered()), encoding="utf-8")
    print(f"wrote {document} and {html.name}")


def _without_foreign_settings() -> None:
    """Start this process again without variables that are already too late to unset."""
    if any(name in os.environ for name in FOREIGN):
        clean = {key: value for key, value in os.environ.items() if key not in FOREIGN}
        os.execve(sys.executable, [sys.executable, "-m", "benchmarks", *sys.argv[1:]], clean)


if __name__ == "__main__":
    _without_foreign_settings()
    sys.exit(main())
