// The arguments and variants of layer_norm; holds no code, since files of every instruction set
// include it.
#pragma once

#include <cstddef>

#include "kernels/float.h"
#include "runtime/share.h"

namespace forge {

// Elements of a row are adjacent; rows may be any distance apart, in elements. `out` may be `x`
// with the same type and stride; otherwise nothing that is written overlaps anything. No alignment
// is needed.
struct LayerNorm {
  const void* x;
  Float x_type;
  std::ptrdiff_t x_stride;
  const void* w;     // dim elements, or null for a weight of one
  const void* bias;  // dim elements, or null for zero
  Float w_type;      // of both
  void* out;
  Float out_type;
  std::ptrdiff_t out_stride;
  float* mean;  // rows elements, or null: the mean of each row
  float* rstd;  // rows elements, or null: 1 / sqrt(variance + eps)
  std::size_t rows;
  std::size_t dim;
  float eps;
};

using LayerNormKernel = void(const LayerNorm&, Share) noexcept;

#define FORGE_KERNEL(isa, name) LayerNormKernel name;
#include "kernels/layer_norm/kernels.inc"
#undef FORGE_KERNEL

}  // namespace forge
