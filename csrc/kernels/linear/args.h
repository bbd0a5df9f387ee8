// The arguments and variants of linear; holds no code, since files of every instruction set
// include it.
#pragma once

#include <cstddef>

#include "kernels/float.h"
#include "runtime/kernel.h"

namespace forge {

enum class Activation : int { none, relu, gelu, gelu_tanh, silu, tanh, quick_gelu, sigmoid };

constexpr std::size_t kLinearParts = 4;

// For every part p of `parts` (1 to 4), which share x:
//   out[p] = scale * activation(x w[p]^T + bias[p]) + residual,
// or, if `up` is given, for the only part
//   out[0] = scale * activation(x w[0]^T + bias[0]) * (x up^T + up_bias) + residual.
// Only a single part has a residual; without one, and with a scale of 1, nothing is added.
//
// x is [rows, depth], out[p] and residual are [rows, columns[p]]: elements of a row are adjacent,
// rows any distance apart, in elements. `residual` may be `out` with the same type and stride;
// otherwise results overlap nothing. Only packed matrices need an alignment: 64 bytes.
template <typename Element>
struct LinearOf {
  const Element* x;
  std::ptrdiff_t x_stride;
  std::size_t rows;
  std::size_t depth;
  std::size_t parts;
  std::size_t columns[kLinearParts];
  const Element* w[kLinearParts];  // packed by the same variant
  const void* bias[kLinearParts];  // columns[p] elements, or null
  const Element* up;               // packed like w, or null
  const void* up_bias;             // like bias
  Float bias_type;                 // of bias and up_bias
  Activation activation;
  float scale;
  const void* residual;  // or null
  std::ptrdiff_t residual_stride;
  Float residual_type;
  void* out[kLinearParts];
  std::ptrdiff_t out_stride[kLinearParts];
  Float out_type;
  void* scratch;  // in linear_bf16 alone: linear_scratch_bytes(rows, depth) for every share
};

using LinearF32 = LinearOf<float>;
using LinearBf16 = LinearOf<Bf16>;

// Rows go through the panels in blocks that stay in the second-level cache.
constexpr std::size_t kLinearRowBlock = 128;

// Scratch of one share of linear_bf16: the sums of two panels of 32 columns, and a block of x,
// widened to float32 or as tiles.
[[maybe_unused]] static constexpr std::size_t linear_scratch_bytes(std::size_t rows,
                                                                   std::size_t depth) noexcept {
  const std::size_t block = rows < kLinearRowBlock ? rows : kLinearRowBlock;
  const std::size_t stride = (depth + 31) / 16 * 16;
  return sizeof(float) * (kLinearRowBlock * 64 + (block + 8) * stride);
}

// Copies one weight of [rows, depth], any strides in elements, into the columns from `first_column`
// on of a packed matrix of `columns` columns. Several weights of one depth pack one after another
// into one matrix. Whoever packs the last column also clears the padding.
struct LinearPackF32 {
  const float* w;
  std::ptrdiff_t row_stride;
  std::ptrdiff_t depth_stride;
  std::size_t rows;
  std::size_t depth;
  float* packed;  // 64-byte aligned, linear_packed_bytes(sizeof(float), columns, depth)
  std::size_t first_column;
  std::size_t columns;
};

// The same for bfloat16, from either type. float32 rounds to nearest even.
struct LinearPackBf16 {
  const void* w;
  std::ptrdiff_t row_stride;
  std::ptrdiff_t depth_stride;
  Float source_type;
  std::size_t rows;
  std::size_t depth;
  Bf16* packed;  // 64-byte aligned, linear_packed_bytes(sizeof(Bf16), columns, depth)
  std::size_t first_column;
  std::size_t columns;
};

#define FORGE_KERNEL(isa, suffix)                                        \
  void linear_f32_##suffix(const LinearF32& args, Share share) noexcept; \
  void linear_pack_f32_##suffix(const LinearPackF32& args, Share share) noexcept;
#include "kernels/linear/kernels.inc"
#undef FORGE_KERNEL

#define FORGE_KERNEL(isa, suffix)                                          \
  void linear_bf16_##suffix(const LinearBf16& args, Share share) noexcept; \
  void linear_pack_bf16_##suffix(const LinearPackBf16& args, Share share) noexcept;
#include "kernels/linear/kernels_bf16.inc"
#undef FORGE_KERNEL

}  // namespace forge
