"""A simulator that computes golden results: what moves files to ports and back can be tested."""

from types import SimpleNamespace

import torch

from forge_ugc.backends.aie import simulation
from forge_ugc.backends.aie.project.plio import read_outputs, write_inputs
from forge_ugc.ops.core.interpreter import interpret


def install(monkeypatch, wrong=None):
    """Let `simulate_design` call a fake; `wrong(design, outputs)` may change what it gives."""
    programs = []
    build = simulation_build(monkeypatch, programs)

    def simulate(graph, *, include_dirs, data_dir, out_dir, device, iterations):
        design, program, tensors = programs[-1]
        assert graph.is_file()
        assert device == design.device.name
        source = next(p for p in design.plios if p.is_input)
        kinds = program.types()
        jets = read_outputs(data_dir / source.file, source, kinds[program.inputs[0].reg].shape)
        assert len(jets) == iterations
        results = [interpret(program, tensors, [torch.from_numpy(jet)]) for jet in jets]
        files = {}
        for number, plio in enumerate(p for p in design.plios if not p.is_input):
            outputs = [result[number].numpy().copy() for result in results]
            if wrong is not None:
                outputs = wrong(program, outputs)
            files[plio.name] = out_dir / plio.file
            write_inputs(files[plio.name], outputs, plio)
        return SimpleNamespace(
            outputs=files, kernels=design.kernels, latency_cycles=1000.0, interval_cycles=500.0,
            seconds=lambda cycles: cycles / 1.25e9,
        )  # fmt: skip

    monkeypatch.setattr(simulation, "simulate", simulate)
    return build


def simulation_build(monkeypatch, programs):
    """Remember what is built, wherever it is built."""
    from forge_ugc.aie import model
    from forge_ugc.backends.aie import executable, pipeline

    real = pipeline.build

    def build(program, tensors, **rest):
        design = real(program, tensors, **rest)
        programs.append((design, program, tensors))
        return design

    for module in (model, executable):
        monkeypatch.setattr(module, "build", build)
    return build
