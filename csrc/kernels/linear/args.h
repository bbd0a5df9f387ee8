// The arguments and variants of linear; holds no code, since files of every instruction set
// include it.
#pragma once

#include <cstddef>

#include "runtime/share.h"

namespace forge {

enum class Activation : int { none, relu, gelu, gelu_tanh, silu };

// Copies one weight of [rows, depth], any strides in elements, into the columns from `first_column`
// on of a packed matrix of `columns` columns. Several weights of one depth pack one after another
// into one matrix. Whoever packs the last column also clears the padding.
struct LinearPackF32 {
  const float* w;
  std::ptrdiff_t row_stride;
  std::ptrdiff_t depth_stride;
  std::size_t rows;
  std::size_t depth;
  float* packed;  // 64-byte aligned, packed_bytes(columns, depth)
  std::size_t first_column;
  std::size_t columns;
};

// out = activation(x w^T + bias) + residual, or, if `up` is given (and `residual` is not),
// out = activation(x w^T + bias) * (x up^T + up_bias).
//
// x is [rows, depth], out and residual are [rows, columns]: elements of a row are adjacent, rows
// any distance apart, in elements. `residual` may be `out` with the same stride; otherwise out
// overlaps nothing. Only packed matrices need an alignment: 64 bytes.
struct LinearF32 {
  const float* x;
  std::ptrdiff_t x_stride;
  std::size_t rows;
  std::size_t columns;
  std::size_t depth;
  const float* w;     // packed by the same variant
  const float* bias;  // columns elements, or null
  Activation activation;
  const float* up;       // packed like w, or null
  const float* up_bias;  // columns elements, or null
  const float* residual;
  std::ptrdiff_t residual_stride;
  float* out;
  std::ptrdiff_t out_stride;
};

// The functions of the engine's tables.
#define FORGE_KERNEL(isa, name)                                         \
  void multiply_f32_##isa(const LinearF32& args, Share share) noexcept; \
  void pack_f32_##isa(const LinearPackF32& args, Share share) noexcept;
#include "kernels/linear/kernels.inc"
#undef FORGE_KERNEL

// One variant. The layout of packed weights belongs to it, so the functions go together.
struct LinearF32Kernels {
  std::size_t (*packed_bytes)(std::size_t columns, std::size_t depth) noexcept;
  void (*pack)(const LinearPackF32&, Share) noexcept;
  void (*run)(const LinearF32&, Share) noexcept;
};

#define FORGE_KERNEL(isa, name) extern const LinearF32Kernels name;
#include "kernels/linear/kernels.inc"
#undef FORGE_KERNEL

}  // namespace forge
