"""The integer exponential that softmax is made of.

Both forms are functions of d = row maximum - score, an integer of 0 to 255, alone.
"""

from __future__ import annotations

import torch

from forge_ugc.npuir.types import DType, TensorType
from forge_ugc.ops.core.integer import check_dyadic, round_shift
from forge_ugc.ops.core.op import require

METHODS = ("table", "polynomial")
DISTANCES = 256

ONE = 127 << 7
"""The exponential of 0."""
WEIGHT_BITS = 7
"""ONE >> WEIGHT_BITS is 127: the weight of the row's maximum in attention."""

# t counts 3970ths of an octave: exp(-y) = 2**(-t / OCTAVE). With z = round(t / OCTAVE), the rest
# f = t - OCTAVE * z the polynomial is (f + CENTRE)**2 + OFFSET, fitted to K * 2**(-f / OCTAVE) so
# that the largest error of exp(-y) over all t is smallest; its leading coefficient is 1, which only
# scales all exponentials of a row alike.
T_LIMIT = (1 << 16) - 1
DISTANCE_SHIFT_LIMIT = 31  # so that 2**15 << shift fits an accumulator of 48 bits
OCTAVE = 3970
OCTAVE_RECIPROCAL, OCTAVE_SHIFT = 8452, 25
CENTRE = -5894
OFFSET = 31_845_340
POLYNOMIAL_SHIFT = 12
Z_LIMIT = 15


def scaled_distance(d: torch.Tensor, multiplier: int, shift: int) -> torch.Tensor:
    """Get t = min(round(d * multiplier / 2**shift), 65535), in OCTAVEths of an octave. i64."""
    return round_shift(d * multiplier, shift).clamp(max=T_LIMIT)


def polynomial(t: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """(p, z) with exp(-y) about p / 2**z / ONE; p: 7775 to 22931, z: 0 to 15, i64 as t."""
    z = round_shift(t * OCTAVE_RECIPROCAL, OCTAVE_SHIFT).clamp(max=Z_LIMIT)
    f = t - z * OCTAVE
    return round_shift((f + CENTRE) ** 2 + OFFSET, POLYNOMIAL_SHIFT), z


def halved(p: torch.Tensor, z: torch.Tensor, extra: int = 0) -> torch.Tensor:
    """Get p / 2**(z + extra), rounded once, halves to the even number."""
    return round_shift(p << (Z_LIMIT - z), Z_LIMIT + extra)


def exponentials(
    d: torch.Tensor,
    method: str,
    multiplier: int,
    shift: int,
    table: torch.Tensor | None,
    extra: int = 0,
) -> torch.Tensor:
    """ONE / 2**extra * exp(-y) as integers, for distances d: i64[...] of 0 to 255; i64 as d.

    By `table` (i8 or i16[256], which holds what `extra` asks for) or by the polynomial.
    """
    if method == "table" and table is not None:
        return table.long()[d]
    return halved(*polynomial(scaled_distance(d, multiplier, shift)), extra)


def check_method(method: str, allowed: tuple[str, ...]) -> None:
    """Type rule of a method's name.

    Raises:
        VerificationError: there is no such method.
    """
    require(method in allowed, f"softmax is {method!r}, expected one of {', '.join(allowed)}")


def check_exponential(
    method: str, multiplier: int, shift: int, table: TensorType | None, wanted: TensorType
) -> None:
    """Type rule of what one method needs: a table, or the factor of the polynomial.

    Raises:
        VerificationError: it is missing, has another type, or is out of range.
    """
    if method == "table":
        require(table == wanted, f"the table is {table or 'missing'}, expected {wanted}")
    else:
        require(table is None, f"a table {table} is given, but softmax is {method!r}")
    if method == "polynomial":
        what = "the factor of the exponential"
        check_dyadic(multiplier, shift, what, shift_limit=DISTANCE_SHIFT_LIMIT)


def table_type(dtype: DType, *heads: int) -> TensorType:
    """Type of the table, `heads` in front where each head has its own."""
    return TensorType.of(dtype, (*heads, DISTANCES))
