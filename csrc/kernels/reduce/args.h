// The arguments and variants of reduce; holds no code, since files of every instruction set
// include it.
#pragma once

#include <cstddef>

#include "runtime/share.h"

namespace forge {

enum class Reduction : int { sum, mean, product, maximum, minimum, any, all };

// `boolean` is a byte that is 0 or 1. The first two are those of `Float`.
enum class Number : int { f32, bf16, i64, boolean };

// x is [outer, count, inner] and out is [outer, inner], with strides in elements.
//   sum, product            f32|bf16 to f32|bf16, i64 to i64, boolean to i64
//   mean                    f32|bf16 to f32|bf16
//   maximum, minimum        f32|bf16 to f32|bf16, i64 to i64; count is at least 1
//   any, all                boolean to boolean
// out overlaps nothing. No alignment is needed.
struct Reduce {
  const void* x;
  Number x_type;
  std::ptrdiff_t x_strides[3];
  void* out;
  Number out_type;
  std::ptrdiff_t out_strides[2];
  std::size_t outer;
  std::size_t count;
  std::size_t inner;
  Reduction reduction;
};

using ReduceKernel = void(const Reduce&, Share) noexcept;

#define FORGE_KERNEL(isa, name) ReduceKernel name;
#include "kernels/reduce/kernels.inc"
#undef FORGE_KERNEL

}  // namespace forge
