// The arguments and variants of linear_i8 and linear_pack_i8; holds no code, since files of every
// instruction set include it.
#pragma once

#include "kernels/linear/args.h"

namespace forge {

// The largest depth whose sums cannot overflow: 131071 * 128 * 128 < 2^31.
constexpr std::size_t kLinearI8MaxDepth = 131071;

// What LinearOf in kernels/linear/args.h is for floats, with quantised x and weights: wherever that
// has x w^T, this has
//   x_scale[r] * w_scale[c] * (the sum over k of x[r, k] w[c, k]),
// and likewise with up_scale for up. Bias, activation, gate, scale and residual follow in float32.
// The scales of x and of weights are not optional, and overlap no result.
struct LinearI8 {
  const std::int8_t* x;
  std::ptrdiff_t x_stride;
  const float* x_scale;  // rows elements
  std::size_t rows;
  std::size_t depth;  // at most kLinearI8MaxDepth
  std::size_t parts;
  std::size_t columns[kLinearParts];
  const std::int8_t* w[kLinearParts];  // packed by the same variant
  const float* w_scale[kLinearParts];  // columns[p] elements
  const void* bias[kLinearParts];      // columns[p] elements, or null
  const std::int8_t* up;               // packed like w, or null
  const float* up_scale;
  const void* up_bias;  // like bias
  Float bias_type;      // of bias and up_bias
  Activation activation;
  float scale;
  const void* residual;  // or null
  std::ptrdiff_t residual_stride;
  Float residual_type;
  void* out[kLinearParts];
  std::ptrdiff_t out_stride[kLinearParts];
  Float out_type;
};

// Copies one quantised weight of [rows, depth], any strides in elements, into the columns from
// `first_column` on of a packed matrix of `columns` columns. Several weights of one depth pack one
// after another into one matrix. Whoever packs the last column also clears the padding.
struct LinearPackI8 {
  const std::int8_t* w;
  std::ptrdiff_t row_stride;
  std::ptrdiff_t depth_stride;
  std::size_t rows;
  std::size_t depth;
  std::int8_t* packed;  // 64-byte aligned, linear_packed_bytes(1, columns, depth)
  std::size_t first_column;
  std::size_t columns;
};

#define FORGE_KERNEL(isa)                                           \
  void linear_i8_##isa(const LinearI8& args, Share share) noexcept; \
  void linear_pack_i8_##isa(const LinearPackI8& args, Share share) noexcept;
#include "kernels/linear_i8/kernels.inc"
#undef FORGE_KERNEL

}  // namespace forge
