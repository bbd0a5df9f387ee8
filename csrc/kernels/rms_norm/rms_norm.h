// Root-mean-square normalisation of rows: out[r, i] = x[r, i] / sqrt(mean(x[r, :]^2) + eps) * w[i].
//
// Source: Zhang and Sennrich, Root Mean Square Layer Normalization, 2019, equation 4.
// All arithmetic is in float32, so that a row whose squares overflow becomes zero, as in PyTorch.
// NaN and infinity in a row make NaN where PyTorch makes it. The variants differ in the order of
// the sum alone: the relative error stays below (dim / 16 + 8) * 2^-24.
#pragma once

#include <cstddef>

#include "kernels/rms_norm/args.h"
#include "runtime/kernel.h"

namespace forge {

extern const Kernel rms_norm_f32_kernel;

}  // namespace forge
