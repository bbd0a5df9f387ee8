"""The exceptions that Forge-UGC raises for conditions a user can act on."""

from __future__ import annotations


class ForgeError(Exception):
    """Base of every error: says what failed, where, why and the way out.

    Args:
        what: one sentence that names the failing thing.
        where: module path, source line, instruction or file position.
        why: the reason, with numbers.
        fix: what the user can do next.
    """

    def __init__(self, what: str, *, where: str = "", why: str = "", fix: str = "") -> None:
        self.what, self.where, self.why, self.fix = what, where, why, fix
        super().__init__(what)

    def __str__(self) -> str:
        rows = [("at", self.where), ("why", self.why), ("fix", self.fix)]
        return "\n".join([self.what, *(f"  {label}: {text}" for label, text in rows if text)])

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (type(self), self.what, self.where, self.why, self.fix)


def _rebuild(cls: type[ForgeError], what: str, where: str, why: str, fix: str) -> ForgeError:
    return cls(what, where=where, why=why, fix=fix)


class CaptureError(ForgeError):
    """The model cannot be captured as one graph."""


class UnsupportedOperatorError(ForgeError):
    """No device of the target runs an operator."""


class VerificationError(ForgeError):
    """A program or a graph breaks a rule of its form."""


class ParseError(VerificationError):
    """NPUIR text is not well formed; `where` carries line and column."""


class InputError(ForgeError):
    """The arguments of a call differ from the compiled signature."""


class OptionError(ForgeError):
    """An option has no such name or value."""


class BackendUnavailableError(ForgeError):
    """The target cannot be used on this machine."""


class QuantizationError(ForgeError):
    """A quantisation parameter is missing or out of range."""


class ArtifactError(ForgeError):
    """A `.forge` or model file is damaged, inconsistent or of another version."""


class SimulationError(ForgeError):
    """A simulated program deadlocked or differed from its golden model."""


class ResourceError(ForgeError):
    """A design needs more of a device than it has: memory, ports, tiles or bandwidth."""


class InternalError(ForgeError):
    """A fault of Forge-UGC itself: please report it with the saved IR."""
