// The arguments and variants of conv1d; holds no code.
#pragma once

#include <cstddef>

#include "runtime/share.h"

namespace forge {

// One filter a channel. Strides in elements; `out` overlaps nothing that is read.
struct Conv1d {
  const float* x;  // [batch, channels, length]
  std::ptrdiff_t x_strides[3];
  const float* w;  // [channels, taps]
  std::ptrdiff_t w_strides[2];
  const float* bias;  // channels elements, or null
  float* out;         // [batch, channels, out_length]
  std::ptrdiff_t out_strides[3];
  std::size_t batch;
  std::size_t channels;
  std::size_t length;
  std::size_t out_length;
  std::size_t taps;
  std::size_t padding;  // zeros before the first element, and after the last
};

using Conv1dKernel = void(const Conv1d&, Share) noexcept;

#define FORGE_KERNEL(isa, name) Conv1dKernel name;
#include "kernels/conv1d/kernels.inc"
#undef FORGE_KERNEL

}  // namespace forge
