// Symmetric quantisation to 8 bits with one scale for each row: x[r, k] ~ scale[r] * q[r, k].
//
// With m the largest |x[r, k]| of a row, scale = m / 127 and q = x * (127 / m), rounded to the
// nearest integer, ties to even: q lies in [-127, 127], and
// |x - scale q| <= scale (1/2 + 127 * 2^-22) + 127 * 2^-150, where the last term is the rounding of
// a denormal scale. Every variant gives the same bits.
//
// A row of zeros, or of numbers so small that m / 127 is zero in float32, has scale 0 and q 0. A
// row with a NaN or an infinity has scale NaN and q 0, so that whatever is computed from it is NaN.
// So has a weight's row: every result of that output channel is NaN. Without depth, scale is 0.
//
// Source: Jacob et al., Quantization and Training of Neural Networks, 2018, section 2.1, with a
// zero point of zero. One pass over a row finds m, a second one converts what the cache still
// holds.
#pragma once

#include "kernels/quantize/args.h"
#include "runtime/kernel.h"

namespace forge {

extern const Kernel quantize_rows_kernel, quantize_weights_kernel;

}  // namespace forge
