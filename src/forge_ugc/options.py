"""Options of a compilation: everything a user may switch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from forge_ugc.errors import OptionError

MIB = 1024 * 1024
PRECISIONS = ("fp32", "bf16", "int8")
CALIBRATIONS = ("max-abs", "percentile", "mse")
SOFTMAX = ("polynomial", "table")
RUNS = ("golden", "simulator")
REPEATED_BLOCKS = ("auto", "off", "verify")


@dataclass(frozen=True, slots=True, kw_only=True)
class IntegerOptions:
    """How a target of integers, `aie`, quantises a model and runs it.

    Attributes:
        calibration: what chooses ranges from the calibration batches: "max-abs", "percentile" or
            "mse", see `forge_ugc.quantization.calibration`.
        percentile: of magnitudes, for "percentile".
        softmax: form of the exponential in attention, "polynomial" or "table".
        device: name of an AI Engine device.
        mapping: how layers are mapped to tiles; "auto" chooses.
        run: "golden" runs the int8 operators' own definitions, "simulator" the generated kernels.
    """

    calibration: str = "max-abs"
    percentile: float = 99.99
    softmax: str = "polynomial"
    device: str = "vck190"
    mapping: str = "auto"
    run: str = "golden"

    def __post_init__(self) -> None:
        for name, value, allowed in (
            ("calibration", self.calibration, CALIBRATIONS), ("softmax", self.softmax, SOFTMAX),
            ("run", self.run, RUNS),
        ):  # fmt: skip
            if value not in allowed:
                raise OptionError(f"{name} is {value!r}", fix=f"choose from {', '.join(allowed)}")
        if not 0 < self.percentile <= 100:
            raise OptionError(f"percentile is {self.percentile}, expected above 0 and at most 100")


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How to compile.

    Attributes:
        passes: names in order; None takes the default pipeline.
        disable: passes or single rewrites (`rms-norm`) to leave out, by name.
        max_rounds: how often the pipeline repeats at most until nothing changes any more.
        fusion_aggressiveness: alpha in [0, 1]; a rewrite of tier t runs if 0 < t <= alpha.
        fold_limit_bytes: largest computed constant that is stored in the program.
        precision: in what matrix products and attention compute; None leaves the model's own types.
            "fp32" is for models of f32 (and f64) and changes nothing. "bf16" rounds their operands
            to bf16, with sums, norms, softmax and residuals in f32. "int8" quantises the operands
            of products, weights by output and activations by row; attention is as in bf16.
        repeated_blocks: "auto" traces equal blocks of a module list once, "off" traces the whole
            model, "verify" does both and compares the graphs.
        verify_passes: run the graph before and after every pass on the example inputs.
        affinity: let the scheduler keep instructions of one device together.
        native: let the native engine run what it has kernels for; without it every instruction
            runs through PyTorch, bit for bit as the reference interpreter.
        threads: of the native engine; None takes torch.get_num_threads() at compile time.
        pin_threads: bind each worker thread to a processor of its own.
        dump_ir: folder that receives the graph after each pass and the program after each phase.
        keep_graphs: keep the graph before and after every pass in the result, for its report page.
        integer: for a target of integers, `aie`.
        progress: called with (phase, done, total) while compiling.
    """

    passes: tuple[str, ...] | None = None
    disable: frozenset[str] = frozenset()
    max_rounds: int = 4
    fusion_aggressiveness: float = 1.0
    fold_limit_bytes: int = 16 * MIB
    precision: str | None = None
    repeated_blocks: str = "auto"
    verify_passes: bool = False
    affinity: bool = True
    native: bool = True
    threads: int | None = None
    pin_threads: bool = False
    dump_ir: Path | None = None
    keep_graphs: bool = False
    integer: IntegerOptions = field(default_factory=IntegerOptions)
    progress: Callable[[str, int, int], None] | None = None

    def __post_init__(self) -> None:
        for name, value in (("passes", self.passes), ("disable", self.disable)):
            if isinstance(value, str):
                raise OptionError(f"{name} is the string {value!r}", fix=f"{name}=({value!r},)")
        # Any collection of names, and a path as text, do as well.
        object.__setattr__(self, "disable", frozenset(self.disable))
        if self.passes is not None:
            object.__setattr__(self, "passes", tuple(self.passes))
        if self.dump_ir is not None:
            object.__setattr__(self, "dump_ir", Path(self.dump_ir))
        if not 0.0 <= self.fusion_aggressiveness <= 1.0:
            raise OptionError(
                f"fusion_aggressiveness is {self.fusion_aggressiveness}, expected 0 to 1"
            )
        if self.threads is not None and self.threads < 1:
            raise OptionError(f"threads is {self.threads}, expected at least 1")
        if self.precision not in (None, *PRECISIONS):
            raise OptionError(
                f"no precision is called {self.precision!r}",
                fix=f"choose from {', '.join(PRECISIONS)}",
            )
        if self.repeated_blocks not in REPEATED_BLOCKS:
            raise OptionError(
                f"repeated_blocks is {self.repeated_blocks!r}",
                fix=f"choose from {', '.join(REPEATED_BLOCKS)}",
            )
        if self.max_rounds < 1:
            raise OptionError(f"max_rounds is {self.max_rounds}, expected at least 1")
        if self.fold_limit_bytes < 0:
            raise OptionError(f"fold_limit_bytes is {self.fold_limit_bytes}, expected 0 or more")
