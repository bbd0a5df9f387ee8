// The arguments and variants of rotary; holds no code, since files of every instruction set
// include it.
#pragma once

#include <cstddef>

#include "kernels/float.h"
#include "runtime/share.h"

namespace forge {

// Which elements of a row make pair i of `turned / 2`: (i, i + turned / 2), or (2 i, 2 i + 1).
enum class RotaryPairs : int { halves, interleaved };

// What a row of cos or sin holds: `turned` values, or `turned / 2`.
enum class RotaryTable : int { per_element, per_pair };

// Rows of x are at [i, j, k], below `sizes`, with strides in elements; those of cos and sin may be
// zero. Elements of a row are adjacent. `out` may be `x` with the same type and strides; otherwise
// it overlaps nothing. No alignment is needed.
struct Rotary {
  const void* x;
  Float x_type;
  std::ptrdiff_t x_strides[3];
  const void* cos;
  std::ptrdiff_t cos_strides[3];
  const void* sin;
  std::ptrdiff_t sin_strides[3];
  Float table_type;  // of cos and sin
  RotaryTable table;
  RotaryPairs pairs;
  void* out;
  Float out_type;
  std::ptrdiff_t out_strides[3];
  std::size_t sizes[3];
  std::size_t dim;
  std::size_t turned;  // an even number up to dim; the elements after are copied
};

using RotaryKernel = void(const Rotary&, Share) noexcept;

#define FORGE_KERNEL(isa, name) RotaryKernel name;
#include "kernels/rotary/kernels.inc"
#undef FORGE_KERNEL

}  // namespace forge
