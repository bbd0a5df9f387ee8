// The arguments and variants of copy; holds no code.
#pragma once

#include <cstddef>

#include "runtime/share.h"

namespace forge {

inline constexpr std::size_t kCopyDims = 6;

// Strides in elements, any sign. `out` starts `out_offset` elements after its address, and no two
// positions of it are one element. The two do not overlap. No alignment beyond that of the element.
struct Copy {
  const void* x;
  std::ptrdiff_t x_strides[kCopyDims];
  void* out;
  std::ptrdiff_t out_offset;
  std::ptrdiff_t out_strides[kCopyDims];
  std::size_t sizes[kCopyDims];  // outermost first
  int element_bytes;             // 1, 2, 4 or 8
};

using CopyKernel = void(const Copy&, Share) noexcept;

#define FORGE_KERNEL(isa, name) CopyKernel name;
#include "kernels/copy/kernels.inc"
#undef FORGE_KERNEL

}  // namespace forge
