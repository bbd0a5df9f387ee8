"""Runs integer models on the AI Engine simulator; several of them in one program."""

from dataclasses import replace

import numpy as np

from forge_ugc.backends.aie.design import Design, End
from forge_ugc.backends.aie.device import VCK190
from forge_ugc.backends.aie.mapping.published import map_published
from forge_ugc.backends.aie.project.generate import ONE_UNIT, write_project
from forge_ugc.backends.aie.project.plio import read_outputs, write_inputs
from forge_ugc.backends.aie.simulator.runner import simulate


def side_by_side(designs):
    """One design of several that do not touch; names get a prefix."""

    def end(number, node):
        return End(f"m{number}_{node.node}", node.port)

    kernels, plios, nets = [], [], []
    for number, design in enumerate(designs):
        kernels += [replace(k, name=f"m{number}_{k.name}") for k in design.kernels]
        plios += [
            replace(p, name=f"m{number}_{p.name}", file=f"data/m{number}_{p.name}.txt")
            for p in design.plios
        ]
        nets += [
            replace(n, source=end(number, n.source), sinks=tuple(end(number, s) for s in n.sinks))
            for n in design.nets
        ]
    return Design(
        name="models", device=VCK190, mapping="published", kernels=tuple(kernels),
        plios=tuple(plios), nets=tuple(nets),
    )  # fmt: skip


def simulated(models, jets, folder):
    """(result of every model, account): i8[jets, rows, columns] for inputs of that form."""
    design = side_by_side([map_published(m.program, m.tensors, VCK190) for m in models])
    graph = write_project(design, folder)
    ports = {plio.name: plio for plio in design.plios}
    for number, given in enumerate(jets):
        write_inputs(folder / f"data/m{number}_input.txt", given, ports[f"m{number}_input"])
    found = simulate(
        graph, include_dirs=[folder / "include"], defines=[ONE_UNIT], data_dir=folder,
        out_dir=folder / "out", iterations=len(jets[0]),
    )  # fmt: skip
    outputs = []
    for number, model in enumerate(models):
        name = f"m{number}_output"
        outputs.append(read_outputs(found.outputs[name], ports[name], model.output.shape))
    return outputs, found


def differences(models, jets, folder):
    """Number and share of differing values of each model that differs; and the account."""
    outputs, found = simulated(models, jets, folder)
    wrong = {}
    for number, (model, given, got) in enumerate(zip(models, jets, outputs, strict=True)):
        share = float(np.mean(got != model.golden(given)))
        if share:
            wrong[number] = share
    return wrong, found
