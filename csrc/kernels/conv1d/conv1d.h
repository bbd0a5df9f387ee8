// Depthwise convolution along the last axis, with step and dilation of one:
// out[b, c, t] = bias[c] + sum over k of w[c, k] x[b, c, t + k - padding], x being 0 outside.
//
// Sums in float32 in the order of k, bias first. Sixteen channels at a time, so that activations
// with adjacent channels and ones with adjacent times are both read and written line by line.
#pragma once

#include "kernels/conv1d/args.h"
#include "runtime/kernel.h"

namespace forge {

extern const Kernel conv1d_kernel;

}  // namespace forge
