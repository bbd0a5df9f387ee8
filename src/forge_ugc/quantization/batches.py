"""Calibration batches as a user gives them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

import torch

from forge_ugc.errors import InputError, OptionError, QuantizationError

FIX = "calibration=[batch, ...], each what the module is called with, of the compiled shape"


class _Signature(Protocol):
    def flatten(
        self, args: Sequence[object], kwargs: Mapping[str, object]
    ) -> list[torch.Tensor]: ...


class _Target(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def quantizes(self) -> bool: ...


def refuse_calibration(target: _Target, *, given: bool) -> None:
    """Calibration is for targets of integers, and they need it.

    Raises:
        QuantizationError: it is missing.
        OptionError: it is given to another target.
    """
    if target.quantizes and not given:
        raise QuantizationError(
            f"target {target.name!r} computes in integers, and needs data to measure ranges on",
            fix=FIX,
        )
    if given and not target.quantizes:
        raise OptionError(
            f"target {target.name!r} takes no calibration data", fix="leave out calibration="
        )


def calibration_batches(
    signature: _Signature, batches: Iterable[object]
) -> list[list[torch.Tensor]]:
    """The flat inputs of every batch: a tensor, or a tuple or list of the module's arguments.

    Raises:
        QuantizationError: there is none, or one does not fit the compiled signature; says which.
    """
    if isinstance(batches, torch.Tensor):
        raise QuantizationError("calibration is one tensor, expected a list of batches", fix=FIX)
    found = []
    for number, batch in enumerate(batches):
        args = tuple(batch) if isinstance(batch, tuple | list) else (batch,)
        try:
            found.append(signature.flatten(args, {}))
        except InputError as error:
            raise QuantizationError(
                f"calibration batch {number} does not fit the model: {error.what}",
                where=error.where,
                why=error.why,
                fix=error.fix or FIX,
            ) from None
    return found
