// The arguments and variants of rms_norm; holds no code, since files of every instruction set
// include it.
#pragma once

#include <cstddef>

#include "runtime/share.h"

namespace forge {

// Elements of a row are adjacent; rows may be any distance apart, in elements. `out` may be `x`
// with the same stride; otherwise they must not overlap. No alignment is needed.
struct RmsNormF32 {
  const float* x;
  std::ptrdiff_t x_stride;
  const float* w;  // dim elements, or null for a weight of one
  float* out;
  std::ptrdiff_t out_stride;
  std::size_t rows;
  std::size_t dim;
  float eps;
};

using RmsNormF32Kernel = void(const RmsNormF32&, Share) noexcept;

#define FORGE_KERNEL(isa, name) RmsNormF32Kernel name;
#include "kernels/rms_norm/kernels.inc"
#undef FORGE_KERNEL

}  // namespace forge
