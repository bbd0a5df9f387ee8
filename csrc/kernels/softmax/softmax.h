// Softmax of rows, or its logarithm: with d[i] = max(x[r, :]) - x[r, i],
// out[r, i] = exp(-d[i]) / sum(exp(-d)), or -d[i] - log(sum(exp(-d))).
//
// All arithmetic is in float32. With m the mean of d, weighted by the probabilities, the error
// before the rounding of the result stays below
//   (d[i] + m + dim / 16 + 12) * 2^-24 of the probability, plus the least denormal, or
//   (d[i] + |out| + m + dim / 16 + 12) * 2^-24 for the logarithm.
// As in PyTorch, a row with NaN, with plus infinity or of nothing but minus infinity becomes NaN.
#pragma once

#include <cstddef>

#include "kernels/softmax/args.h"
#include "runtime/kernel.h"

namespace forge {

extern const Kernel softmax_kernel;

}  // namespace forge
