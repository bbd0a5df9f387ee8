// Normalisation of rows to mean 0 and variance 1:
// out[r, i] = (x[r, i] - mean) / sqrt(variance + eps) * w[i] + bias[i], with the variance of the
// population, mean((x - mean)^2).
//
// Source: Ba, Kiros and Hinton, Layer Normalization, 2016, section 3.
// All arithmetic is in float32, with the mean before the variance, so that a large mean costs no
// accuracy but its own rounding. With e = (dim / 16 + 8) * 2^-24 and the exact y of a weight of one
// and no bias, the error stays below |w| (e mean|x| / sqrt(variance + eps) + |y| (e + 2^-21)) plus
// the rounding of the result. NaN or infinity anywhere in a row makes the row NaN. A row whose
// variance overflows becomes the bias, as in PyTorch. The variant of AVX-512 BF16 makes zero of
// results in bfloat16 below 2^-126.
#pragma once

#include <cstddef>

#include "kernels/layer_norm/args.h"
#include "runtime/kernel.h"

namespace forge {

extern const Kernel layer_norm_kernel;

}  // namespace forge
