// The arguments and variants of gather; holds no code.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/share.h"

namespace forge {

inline constexpr std::size_t kGatherDims = 5, kGatherIndices = 4;

enum class GatherConversion : int { none, bf16_to_f32, f32_to_bf16 };

// Loops over the elements of `out`. Every index is a tensor that is broadcast over those loops and
// says where along one axis of `x` to read; the other axes of `x` are walked by the loops. Strides
// in elements. `out` overlaps nothing that is read.
struct Gather {
  const void* x;
  std::ptrdiff_t x_strides[kGatherDims];  // 0 for a loop over indices
  const void* ids[kGatherIndices];
  std::ptrdiff_t ids_strides[kGatherIndices * kGatherDims];  // of index k from [5 k] on
  int ids_bytes[kGatherIndices];                             // 4 or 8: i32 or i64
  std::ptrdiff_t axis_strides[kGatherIndices];               // of x along the index's axis
  std::size_t axis_sizes[kGatherIndices];
  int indices;
  int from_end;  // 1: a negative index counts from the axis's end; 0: it is out of range
  void* out;
  std::ptrdiff_t out_strides[kGatherDims];
  std::size_t sizes[kGatherDims];  // outermost first
  int element_bytes;               // of x and out: 1, 2, 4 or 8; or of x, if it is converted
  int conversion;
  std::int32_t* status;  // set to `step` if an index is out of range; its elements become 0
  int step;
};

using GatherKernel = void(const Gather&, Share) noexcept;

#define FORGE_KERNEL(isa, name) GatherKernel name;
#include "kernels/gather/kernels.inc"
#undef FORGE_KERNEL

}  // namespace forge
