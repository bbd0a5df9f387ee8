// Rotary position embedding: every pair (a, b) of a row becomes
// (a cos - b sin, b cos' + a sin'), with two values of a table per pair, or one.
//
// Source: Su et al., RoFormer, 2021, section 3.4.2.
// Both products and the sum round to float32, as in PyTorch: in float32 the results are PyTorch's
// bit for bit. The only rounding to bfloat16 is that of the result, where PyTorch would round
// products as well.
#pragma once

#include <cstddef>

#include "kernels/rotary/args.h"
#include "runtime/kernel.h"

namespace forge {

extern const Kernel rotary_kernel;

}  // namespace forge
