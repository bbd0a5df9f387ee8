// The arguments and variants of softmax; holds no code, since files of every instruction set
// include it.
#pragma once

#include <cstddef>

#include "kernels/float.h"
#include "runtime/share.h"

namespace forge {

enum class SoftmaxResult : int { probability, logarithm };

// Elements of a row are adjacent; rows may be any distance apart, in elements. `out` may be `x`
// with the same type and stride; otherwise they must not overlap. No alignment is needed.
struct Softmax {
  const void* x;
  Float x_type;
  std::ptrdiff_t x_stride;
  void* out;
  Float out_type;
  std::ptrdiff_t out_stride;
  std::size_t rows;
  std::size_t dim;
  SoftmaxResult result;
};

using SoftmaxKernel = void(const Softmax&, Share) noexcept;

#define FORGE_KERNEL(isa, name) SoftmaxKernel name;
#include "kernels/softmax/kernels.inc"
#undef FORGE_KERNEL

}  // namespace forge
