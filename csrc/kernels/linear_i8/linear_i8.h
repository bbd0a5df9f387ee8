// Matrix product of 8-bit rows and packed 8-bit weights, with what linear does after it.
//
// Packed layout: panels of some vectors of columns (48 columns with VNNI, 32 with AMX and AVX-512,
// 8 with AVX2, 4 in portable code), one after another; in a panel group after group, the columns of
// one group adjacent, four bytes a column. A group is four depths. The last panel is only as many
// vectors wide as it has columns for; columns and depths beyond are zero. AMX has groups in whole
// blocks of 16.
//
// The sums of products are exact in every variant, for all values of x and of weights down to -128,
// as long as depth is at most kLinearI8MaxDepth. Then
//   y = ((float)sum * x_scale[r]) * w_scale[c]
// rounds three times, in this order, so that it is the same bit for bit in every variant and for
// any number of shares and rows; a bias adds one rounding, and so on as in kernels/linear/linear.h.
// A scale that is NaN makes results NaN: that is how a row that could not be quantised shows.
//
// Variants: amx multiplies tiles of 16 x 64 bytes (TDPBSSD), and like avx512_vnni for up to four
// rows; avx512_vnni has vpdpbusd, whose first operand is unsigned: it takes x + 128 and starts from
// -128 times the sum of the weights; avx512 and avx2 widen to 16 bits and add pairs of products
// (vpmaddwd: vpmaddubsw would saturate); none is portable.
//
// Sources: Intel 64 and IA-32 Architectures Optimization Reference Manual, chapters 20 (AMX) and 8
// (VNNI, with the compensation). Shares divide the columns, or rows if there are few columns. Any
// of rows, columns and depth may be zero; without depth the sum is zero. x is read only where it
// has elements: it needs no padding and no alignment, only packed matrices do: 64 bytes.
#pragma once

#include "kernels/linear_i8/args.h"
#include "runtime/kernel.h"

namespace forge {

extern const Kernel linear_i8_kernel, linear_pack_i8_kernel;

}  // namespace forge
