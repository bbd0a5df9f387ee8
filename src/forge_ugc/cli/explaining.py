"""`forge-ugc explain`."""

from __future__ import annotations

from forge_ugc.cli import models
from forge_ugc.cli.console import emit_json, out


def explain(
    model: models.Model,
    target: models.Target = "cpu",
    tokens: models.Tokens = 128,
    dtype: models.DTypeName = None,
    seed: models.Seed = 0,
    layers: models.Layers = None,
    passes: models.Passes = None,
    disable: models.Disable = None,
    fusion: models.Fusion = 1.0,
    precision: models.Precision = None,
    repeated_blocks: models.RepeatedBlocks = "auto",
    json: models.AsJson = False,
) -> None:
    """Tell which blocks were traced once, which rewrites fired where, and which nearly did."""
    options = models.make_options(
        passes=passes, disable=disable, fusion=fusion, precision=precision,
        repeated_blocks=repeated_blocks,
    )  # fmt: skip
    source = models.Source(spec=model, tokens=tokens, dtype=dtype, seed=seed, layers=layers)
    loaded = source.load()
    compiled = models.compile_loaded(loaded, target, options)
    import forge_ugc
    from forge_ugc.report.document import explanation_document
    from forge_ugc.report.grouping import group_fired, group_near_misses
    from forge_ugc.report.tables import group_table, operator_table

    found = forge_ugc.explain(compiled)
    if json:
        document = explanation_document(found.fired, found.near_misses)
        document["source"] = loaded.description
        document["repeated_blocks"] = list(found.repeated_blocks.lines())
        emit_json(document)
        return
    out.print(loaded.description, highlight=False, markup=False)
    result = compiled.result
    out.print(operator_table(result.captured_operators, result.optimized_operators))
    for line in found.repeated_blocks.lines():
        out.print(line, highlight=False, markup=False)
    out.print(group_table("Rewrites that fired", "what stands there now", group_fired(found.fired)))
    missed = group_near_misses(found.near_misses)
    if missed:
        out.print(group_table("Near misses", "why it did not fire", missed))
    else:
        out.print("no near misses: every pattern that was found was also rewritten")
