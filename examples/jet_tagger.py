"""Tag jets on AMD AI Engines: the published integer transformer from layers, and one from PyTorch.

First the model of arXiv 2606.17500, of random integer weights: 160 particles of 8 features, width
64, two blocks of four heads. With --simulate its kernels are built, run and compared with golden
integers bit for bit, which needs a C++ compiler; with --folder the project stays. Then a small
tagger is trained in PyTorch for a few seconds, quantised, and compared with itself in floating
point. Exit code 1 if it decides otherwise for more than one jet in twenty.
"""

import argparse
import sys

import numpy as np
import torch
from torch import nn

import forge_ugc
from forge_ugc.aie import MHA, AIEModel, Dense, ResAdd
from forge_ugc.options import IntegerOptions

WIDTH = 64
PARTICLES, FEATURES = 160, 8
KINDS = ("light quark", "gluon", "top")


def published(heads: int, softmax: str, *, bias: bool, seed: int) -> AIEModel:
    """The published model with random weights, and a softmax that it was not measured with."""
    random = np.random.default_rng(seed)

    def weight(outputs: int, inputs: int) -> np.ndarray:
        return random.integers(-127, 128, (outputs, inputs)).astype(np.int8)

    def offsets(outputs: int) -> np.ndarray | None:
        return random.integers(-5000, 5001, outputs).astype(np.int32) if bias else None

    def dense(name: str, outputs: int, inputs: int, *, relu: bool = True) -> Dense:
        return Dense(
            name=name, weight=weight(outputs, inputs), bias=offsets(outputs), relu=relu,
            weight_step=unit_step(inputs),
        )  # fmt: skip

    model = AIEModel(shape=(PARTICLES, FEATURES), device="vck190", name="jet_tagger",
                     input_step=1 / 73)  # fmt: skip
    x = model.add_layer(dense("embed", WIDTH, FEATURES))
    for block in range(2):
        parts = {part: weight(WIDTH, WIDTH) for part in ("query", "key", "value", "output")}
        attention = MHA(
            name=f"attention_{block}", heads=heads, softmax=softmax, score_step=1 / 16,
            weight_step=unit_step(WIDTH), **parts,
        )  # fmt: skip
        mixed = model.add_layer(attention)
        x = model.add_layer(ResAdd(name=f"sum_{block}"), inputs=[x, mixed])
        model.add_layer(dense(f"up_{block}", WIDTH, WIDTH))
        fed = model.add_layer(dense(f"down_{block}", WIDTH, WIDTH))
        x = model.add_layer(ResAdd(name=f"sum_{block}_fed"), inputs=[x, fed])
    model.add_layer(dense("hidden", WIDTH, WIDTH))
    model.add_layer(dense("classes", FEATURES, WIDTH, relu=False))
    return model


def unit_step(inputs: int) -> float:
    """The step of random weights that keeps the size of numbers from layer to layer."""
    return 1 / (73 * inputs**0.5)  # 73: the standard deviation of -127 to 127


class Tagger(nn.Module):
    """One block of attention and feed-forward over particles, their mean, and classes."""

    def __init__(self, width: int = 16, heads: int = 4) -> None:
        super().__init__()
        self.embed = nn.Linear(FEATURES, width)
        self.attention = nn.MultiheadAttention(width, heads, batch_first=True)
        self.up, self.down = nn.Linear(width, width), nn.Linear(width, width)
        self.classes = nn.Linear(width, len(KINDS))

    def forward(self, jets: torch.Tensor) -> torch.Tensor:
        x = self.embed(jets)
        x = x + self.attention(x, x, x, need_weights=False)[0]
        x = x + self.down(torch.relu(self.up(x)))
        return self.classes(x.mean(1))


def sample(count: int, particles: int = 32) -> tuple[torch.Tensor, torch.Tensor]:
    """Jets of three kinds that differ in how their particles spread, and which kind each is."""
    kinds = torch.randint(len(KINDS), (count,))
    spread = torch.tensor([0.6, 1.0, 1.5])[kinds][:, None, None]
    offset = torch.tensor([0.3, 0.0, -0.3])[kinds][:, None, None]
    return offset + spread * torch.randn(count, particles, FEATURES), kinds


def trained(steps: int) -> Tagger:
    """A tagger after a few seconds of training."""
    model = Tagger()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for _ in range(steps):
        jets, kinds = sample(64)
        loss = nn.functional.cross_entropy(model(jets), kinds)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model.eval()


def from_layers(options: argparse.Namespace) -> None:
    """Build the published model, and simulate it if asked to."""
    model = published(options.heads, options.softmax, bias=options.bias, seed=options.seed)
    random = np.random.default_rng(options.seed + 1)
    jets = random.integers(-128, 128, (options.jets, PARTICLES, FEATURES)).astype(np.int8)
    model.calibrate(jets)
    print(model.program)
    golden = model.golden(jets)
    print(f"golden result: i8{list(golden.shape)}, first row {golden[0, 0].tolist()}")
    if options.simulate:
        print(model.forward(jets, folder=options.folder, mapping=options.mapping))
    elif options.folder:
        design = model.compile(options.folder, mapping=options.mapping)
        print(f"{len(design.kernels)} kernels in {options.folder}")


def from_pytorch(options: argparse.Namespace) -> float:
    """Train, quantise and compare; the share of jets that are decided as in floating point."""
    torch.manual_seed(options.seed)
    module = trained(options.steps)
    calibration = list(sample(64)[0].split(1))
    compiled = forge_ugc.compile(
        module, (calibration[0],), target="aie", calibration=calibration,
        options=forge_ugc.Options(integer=IntegerOptions(calibration="mse")),
    )  # fmt: skip
    print(compiled.report())
    jets, kinds = sample(200)
    with torch.no_grad():
        exact = module(jets).argmax(-1)
    integer = torch.cat([compiled(jet) for jet in jets.split(1)]).argmax(-1)
    for name, decided in (("floating point", exact), ("integers", integer)):
        print(f"{name}: {(decided == kinds).double().mean():.1%} of new jets named rightly")
    return float((exact == integer).double().mean())


def main() -> int:
    """Run both; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument("--softmax", default="polynomial", choices=["none", "table", "polynomial"])
    parser.add_argument("--bias", action="store_true")
    parser.add_argument("--jets", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=150, help="of training")
    parser.add_argument("--mapping", default="auto")
    parser.add_argument("--folder", help="write the project of the published model here")
    parser.add_argument("--simulate", action="store_true", help="run its kernels, bit for bit")
    options = parser.parse_args()

    from_layers(options)
    agreement = from_pytorch(options)
    print(f"{agreement:.1%} of decisions are the same")
    return 0 if agreement >= 0.95 else 1


if __name__ == "__main__":
    sys.exit(main())
