// The arguments and variants of quantize_rows and quantize_weights; holds no code, since files of
// every instruction set include it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/float.h"
#include "runtime/share.h"

namespace forge {

// Elements of a row are adjacent in x and q; rows any distance apart, in elements. If `q_stride` is
// at least `depth` rounded up to a multiple of 64, the elements of q up to that multiple become
// zero; nothing else of q is written beyond `depth`. No alignment is needed, and q and scale
// overlap nothing.
struct QuantizeRows {
  const void* x;
  Float x_type;
  std::ptrdiff_t x_stride;
  std::size_t rows;
  std::size_t depth;
  std::int8_t* q;
  std::ptrdiff_t q_stride;
  float* scale;  // rows elements
};

// The same for a weight of [rows, depth] with any strides, one scale for each row (an output
// channel). It is read at the speed of the memory if either stride is 1. q is never padded.
struct QuantizeWeights {
  const void* w;
  Float w_type;
  std::ptrdiff_t row_stride;
  std::ptrdiff_t depth_stride;
  std::size_t rows;
  std::size_t depth;
  std::int8_t* q;
  std::ptrdiff_t q_stride;
  float* scale;  // rows elements
};

#define FORGE_KERNEL(isa)                                                   \
  void quantize_rows_##isa(const QuantizeRows& args, Share share) noexcept; \
  void quantize_weights_##isa(const QuantizeWeights& args, Share share) noexcept;
#include "kernels/quantize/kernels.inc"
#undef FORGE_KERNEL

}  // namespace forge
