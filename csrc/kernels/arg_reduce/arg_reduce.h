// Where the maximum or minimum along an axis is, and its value.
//
// The first of equal elements counts, and so does the first NaN if there is one: it is both the
// maximum and the minimum, as in PyTorch. Results are exact.
#pragma once

#include <cstddef>

#include "kernels/arg_reduce/args.h"
#include "runtime/kernel.h"

namespace forge {

extern const Kernel arg_reduce_kernel;

}  // namespace forge
