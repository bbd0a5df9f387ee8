// The arguments and variants of rms_norm; holds no code, since files of every instruction set
// include it.
#pragma once

#include <cstddef>

#include "kernels/float.h"
#include "runtime/share.h"

namespace forge {

// Elements of a row are adjacent; rows may be any distance apart, in elements. `out` may be `x`
// with the same type and stride; otherwise they must not overlap. No alignment is needed.
struct RmsNorm {
  const void* x;
  Float x_type;
  std::ptrdiff_t x_stride;
  const void* w;  // dim elements, or null for a weight of one
  Float w_type;
  float weight_offset;  // added to every element of w
  void* out;
  Float out_type;
  std::ptrdiff_t out_stride;
  std::size_t rows;
  std::size_t dim;
  float eps;
};

using RmsNormKernel = void(const RmsNorm&, Share) noexcept;

#define FORGE_KERNEL(isa, name) RmsNormKernel name;
#include "kernels/rms_norm/kernels.inc"
#undef FORGE_KERNEL

}  // namespace forge
