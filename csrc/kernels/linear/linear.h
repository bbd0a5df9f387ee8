// Matrix product with packed weights: bias, activation, residual or gate in the same pass.
//
// Packed layout: panels of some vectors of columns (48 columns in AVX-512, 16 in AVX2 and portable
// code), one after another; in a panel depth after depth, the columns of one depth adjacent. The
// last panel is only as many vectors wide as it has columns for; the columns beyond are zero.
//
// Every element is the sum over depth in order, in float32, so it is the same bit for bit whatever
// the number of shares and of rows: its error is at most u / (1 - u) times the sum of
// |x[r, k] w[c, k]| with u = depth * 2^-24, then half a unit for bias, for gate and for residual.
// NaN and infinity propagate as in PyTorch.
//
// Activations differ from the exact result by at most 6 (gelu) or 3 (gelu_tanh, silu) units in the
// last place of it, for every finite argument and for denormal results too (a unit of 2^-149).
// Infinite arguments give what PyTorch's formulas give: NaN for gelu(-inf) and silu(-inf).
//
// A share computes whole vectors of columns, or row tiles if there are few columns. No allocation,
// no threads. Any of rows, columns and depth may be zero; without depth the sum is zero.
#pragma once

#include "kernels/linear/args.h"
#include "runtime/kernel.h"
#include "runtime/kernel_table.h"

namespace forge {

extern const Kernel linear_f32_kernel, linear_pack_f32_kernel;

// Bytes of a packed matrix, enough for the layout of every variant: columns in whole vectors of
// 16, and where elements are smaller than a float, depths in whole groups of 64 bytes.
std::size_t linear_packed_bytes(std::size_t element_bytes, std::size_t columns,
                                std::size_t depth) noexcept;

std::span<const KernelRow<const LinearF32Kernels>> linear_f32_table() noexcept;

}  // namespace forge
