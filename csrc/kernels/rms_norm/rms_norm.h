// Root-mean-square normalisation of rows:
// out[r, i] = x[r, i] / sqrt(mean(x[r, :]^2) + eps) * (w[i] + weight_offset).
//
// Source: Zhang and Sennrich, Root Mean Square Layer Normalization, 2019, equation 4.
// All arithmetic is in float32, so that a row whose squares overflow becomes zero, as in PyTorch.
// NaN and infinity in a row make NaN where PyTorch makes it. The only rounding to bfloat16 is that
// of the result: a model that rounds the normalised row before the weight multiplies it gets one
// rounding less. The variants differ in the order of the sum alone: the relative error, before that
// rounding, stays below (dim / 16 + 10) * 2^-24, apart from the cancellation of w + weight_offset.
// The variant of AVX-512 BF16 makes zero of results in bfloat16 below 2^-126.
#pragma once

#include <cstddef>

#include "kernels/rms_norm/args.h"
#include "runtime/kernel.h"

namespace forge {

extern const Kernel rms_norm_kernel;

}  // namespace forge
