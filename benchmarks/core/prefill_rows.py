"""Rows of the result file from the outcomes of one model in one precision."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from benchmarks.core.measurement import Ask, Measurement, Subject, percentile
from benchmarks.core.roofline import Peaks, gemm_seconds
from forge_ugc.evaluation.peers.outcome import Outcome, Reference, fastest

_FASTER = {
    "fp32": Ask(
        "fp32: median at least 12% under the fastest peer's (peer / forge at least 1.136)",
        at_least=1 / 0.88,
    ),
    "bf16": Ask(
        "bf16: median at least 20% under the fastest peer's (peer / forge at least 1.25)",
        at_least=1.25,
    ),
}
_HALF = Ask("int8: median at least 50% under OpenVINO's default (ratio at least 2)", at_least=2.0)
_STEADY = Ask("P99 / P50 of forge at most 1.10", at_most=1.10)
_ROOFLINE = Ask("at least 88% of the GEMM roofline from 100M parameters on", at_least=0.88)
_ROOFLINE_FROM = 100_000_000
_NO_HOST = Ask("no host instruction", at_most=0)
_DIFFERENCE = Ask("bf16: largest difference no larger than eager bf16's", at_most=1.0)
_DIVERGENCE = Ask("bf16: mean KL no larger than eager bf16's", at_most=1.0)


def rows(
    model: str, precision: str, outcomes: Sequence[Outcome], reference: Reference, peaks: Peaks
) -> Iterator[Measurement]:
    """All rows; ours is the first of the outcomes."""
    yield from _overview(model, precision, outcomes, reference, peaks)
    for outcome in outcomes:
        yield from _detail(model, precision, outcome, reference)
    if precision == "bf16":
        yield from _beside_eager(model, outcomes, reference)
    for outcome in outcomes:
        if outcome.failure is not None:
            row = Subject("Failures", f"{model}, {precision}, {outcome.entry.label}")
            yield row.note("message", outcome.failure)
    yield from _machine(model, precision, outcomes, peaks)


def _overview(
    model: str, precision: str, outcomes: Sequence[Outcome], reference: Reference, peaks: Peaks
) -> Iterator[Measurement]:
    ours, peers = outcomes[0], outcomes[1:]
    row = Subject(f"{precision}: median latency", model)
    for outcome in outcomes:
        label = outcome.entry.label
        if outcome.median_ms is None:
            yield row.note(label, "failed")
        else:
            yield row.measure(label, "ms", outcome.times_ms)
    if precision == "int8":
        default = next((o for o in peers if o.entry.precision == "default"), None)
        if default is not None:
            yield _judged(row, "openvino default / forge", "ratio", default.ratio, _HALF)
        peers = [o for o in peers if o.entry.precision != "default"]
    best = fastest(peers)
    yield row.note("fastest peer", best.entry.label if best else "none ran")
    ask = _FASTER.get(precision)
    ratio = best.ratio if best else None
    yield _judged(row, "fastest peer / forge", "ratio", ratio, ask)
    least = gemm_seconds(reference.linears, precision, peaks)
    yield row.measure("GEMM roofline", "ms", least * 1e3)
    share = least * 1e3 / ours.median_ms if ours.median_ms else None
    large = reference.parameters >= _ROOFLINE_FROM
    yield _judged(row, "roofline / forge", "share", share, _ROOFLINE if large else None)
    host = ours.ready.get("details", {}).get("host instructions")
    yield _judged(row, "host instructions", "count", host, _NO_HOST)


def _judged(
    row: Subject, metric: str, unit: str, value: float | None, ask: Ask | None
) -> Measurement:
    """A measurement, or one that fails what is asked because there is no value."""
    if value is None:
        return row.missing(metric, ask)
    return row.measure(metric, unit, value, ask=ask)


def _detail(
    model: str, precision: str, outcome: Outcome, reference: Reference
) -> Iterator[Measurement]:
    ours = outcome.entry.engine == "forge"
    row = Subject(f"{precision}: every engine", f"{model}, {outcome.entry.label}")
    times = outcome.times_ms
    if outcome.median_ms is not None:
        p99 = percentile(times, 0.99)
        yield row.measure("median", "ms", times)
        yield row.measure("min", "ms", min(times))
        yield row.measure("P99", "ms", p99)
        steady = p99 / outcome.median_ms
        yield row.measure("P99 / P50", "ratio", steady, ask=_STEADY if ours else None)
        if outcome.ratio is not None:
            yield row.measure("engine / forge", "ratio", outcome.ratio)
    else:
        yield row.note("median", "failed")
        if ours:
            yield _judged(row, "P99 / P50", "ratio", None, _STEADY)
    if outcome.ready:
        yield row.measure("build", "s", outcome.ready["build_seconds"])
    if outcome.memory:
        yield row.measure("peak memory", "bytes", outcome.memory["peak_bytes"])
        yield row.measure("growth", "bytes", outcome.memory["growth_bytes"])
    if outcome.fidelity is not None:
        yield row.measure("largest difference", "number", outcome.fidelity.max_abs_difference)
        if reference.logits:
            yield row.measure("mean KL", "number", outcome.fidelity.mean_kl)
            yield row.measure("largest KL", "number", outcome.fidelity.max_kl)
    details = outcome.ready.get("details", {})
    shown = ", ".join(f"{key} {value}" for key, value in details.items())
    if shown and not ours:
        yield row.note("how", shown)


def _beside_eager(
    model: str, outcomes: Sequence[Outcome], reference: Reference
) -> Iterator[Measurement]:
    eager = next((o for o in outcomes if o.entry.engine == "eager"), None)
    ours, theirs = outcomes[0].fidelity, eager.fidelity if eager else None
    row = Subject("bf16: fidelity of forge over that of eager bf16", model)
    pairs = [("largest difference", "max_abs_difference", _DIFFERENCE)]
    if reference.logits:
        pairs.append(("mean KL", "mean_kl", _DIVERGENCE))
    for metric, name, ask in pairs:
        base = getattr(theirs, name) if theirs else 0.0
        value = getattr(ours, name) / base if ours and base else None
        yield _judged(row, metric, "ratio", value, ask)


def _machine(
    model: str, precision: str, outcomes: Sequence[Outcome], peaks: Peaks
) -> Iterator[Measurement]:
    row = Subject("Machine beside the runs", f"{model}, {precision}")
    for name, value in (
        ("f32 GFLOP/s", peaks.f32), ("bf16 GFLOP/s", peaks.bf16), ("int8 GOP/s", peaks.int8),
        ("read GB/s", peaks.read),
    ):  # fmt: skip
        yield row.measure(name, "count", value / 1e9)  # GFLOP/s, without decimals
    ran = [o.waiting_share for o in outcomes if o.median_ms is not None]
    if ran:
        yield row.measure("processors used by a waiting engine, at most", "number", max(ran))
