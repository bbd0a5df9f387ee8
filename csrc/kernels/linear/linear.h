// Matrix product with packed weights: bias, activation, scale, residual or gate in the same pass,
// and several weights that share their argument.
//
// Packed layout: panels of some vectors of columns (48 columns in AVX-512, 32 in AMX, 16 in AVX2
// and portable code), one after another; in a panel group after group, the columns of one group
// adjacent, 32 bits a column. A group is one depth of float32 or two of bfloat16, the first of them
// in the low half. The last panel is only as many vectors wide as it has columns for; columns and
// depths beyond are zero. AMX has groups in whole blocks of 16.
//
// Every sum runs over depth in order, in float32, so it is the same bit for bit whatever the number
// of shares and of rows (AMX keeps two sums, of even and of odd depths, within 32 of them): its
// error is at most u / (1 - u) times the sum of |x[r, k] w[c, k]| with u = depth * 2^-24, then half
// a unit for bias, gate, scale and residual each, and half a unit of bfloat16 where that is the
// type of the result. The activation and all that follows is in float32 too. NaN and infinity
// propagate as in PyTorch. The instructions for bfloat16 take denormals for zero, in operands and
// in sums.
//
// Activations differ from the exact result by at most 6 (gelu, tanh) or 3 (all others) units in the
// last place of it, for every finite argument and for denormal results too (a unit of 2^-149).
// Where the result is bfloat16, their relative error is at most 2^-13 before it rounds, or 2^-119
// in absolute terms. Infinite arguments give what PyTorch's formulas give: NaN for gelu, silu and
// quick_gelu of minus infinity.
//
// A share computes whole vectors of columns, counted over all parts, or row tiles if there are few
// columns. Any of rows, columns and depth may be zero; without depth the sum is zero.
#pragma once

#include "kernels/linear/args.h"
#include "runtime/kernel.h"

namespace forge {

extern const Kernel linear_f32_kernel, linear_pack_f32_kernel;
extern const Kernel linear_bf16_kernel, linear_pack_bf16_kernel;

// Bytes of a packed matrix, enough for the layout of every variant: columns in whole vectors of
// 16, and where elements are smaller than a float, depths in whole groups of 64 bytes.
std::size_t linear_packed_bytes(std::size_t element_bytes, std::size_t columns,
                                std::size_t depth) noexcept;

}  // namespace forge
