// A chain of elementwise steps in one pass over memory: out[i] = code(in0[i], in1[i], ...).
//
// Operands broadcast by strides of 0. The byte code runs step by step over blocks of 256 elements,
// so that intermediate values stay in L1. Floats are computed in float32; the steps round_bf16 and
// round_f16 make a chain of bfloat16 or float16 what PyTorch's operators make of it one by one.
// Integers wrap around. add, subtract, multiply, divide, square_root, comparisons and conversions
// are exact or rounded once; the other functions err by 3 units in the last place at most, gelu by
// 8, power by what powf of the C library errs. NaN and infinities go through as in PyTorch;
// denormals count.
#pragma once

#include <cstddef>

#include "kernels/elementwise/args.h"
#include "runtime/kernel.h"

namespace forge {

extern const Kernel elementwise_kernel;

}  // namespace forge
