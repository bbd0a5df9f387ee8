// One number for all elements along an axis: sum, mean, product, maximum, minimum, any, all.
//
// Floating-point arithmetic is in float32. Before the rounding of the result, the error stays below
// (count / 16 + 70) * 2^-24 of the sum of the magnitudes for sum and mean, and below
// count * 2^-24 of the product; maximum and minimum are exact, and NaN if any element is. No
// element makes 0, 1, false, true, and NaN for the mean. Integers wrap.
#pragma once

#include <cstddef>

#include "kernels/reduce/args.h"
#include "runtime/kernel.h"

namespace forge {

extern const Kernel reduce_kernel;

}  // namespace forge
