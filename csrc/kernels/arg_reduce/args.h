// The arguments and variants of arg_reduce; holds no code, since files of every instruction set
// include it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/reduce/args.h"
#include "runtime/share.h"

namespace forge {

enum class Extremum : int { maximum, minimum };

// x is [outer, count, inner] of f32, bf16 or i64, indices and values are [outer, inner], with
// strides in elements; count is at least 1. Values have the type of x. Outputs overlap nothing. No
// alignment is needed.
struct ArgReduce {
  const void* x;
  Number x_type;
  std::ptrdiff_t x_strides[3];
  std::int64_t* indices;
  std::ptrdiff_t index_strides[2];
  void* values;  // or null
  std::ptrdiff_t value_strides[2];
  std::size_t outer;
  std::size_t count;
  std::size_t inner;
  Extremum extremum;
};

using ArgReduceKernel = void(const ArgReduce&, Share) noexcept;

#define FORGE_KERNEL(isa, name) ArgReduceKernel name;
#include "kernels/arg_reduce/kernels.inc"
#undef FORGE_KERNEL

}  // namespace forge
