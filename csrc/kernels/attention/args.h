// The arguments and variants of attention; holds no code of its own but sizes, since files of every
// instruction set include it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/kernel.h"
#include "runtime/share.h"

namespace forge {

enum class MaskType : int { none, boolean, f32, bf16 };
enum class OutType : int { f32, bf16 };
// What a query that sees no key at all yields.
enum class EmptyRows : int { zero, nan };

// Elements along the last axis of q, k, v and out are adjacent; the other axes may be any distance
// apart, in elements. No alignment is needed. `out` must overlap nothing else.
template <typename T, typename Out>
struct Attention {
  const T* q;  // [batch, heads, length, size]
  std::ptrdiff_t q_strides[3];
  const T* k;  // [batch, groups, keys, size]
  std::ptrdiff_t k_strides[3];
  const T* v;  // [batch, groups, keys, value_size]
  std::ptrdiff_t v_strides[3];
  const void* mask;  // [batch, heads, length, keys] of mask_type; a stride of 0 broadcasts
  std::ptrdiff_t mask_strides[4];
  MaskType mask_type;
  Out* out;  // [batch, heads, length, value_size] of out_type
  std::ptrdiff_t out_strides[3];
  OutType out_type;
  std::size_t batch, heads, groups, length, keys, size, value_size;
  float scale;
  // Query i sees key j if -left <= j - i <= right. Within 2^62 of zero; 2^62 bounds nothing.
  std::ptrdiff_t left, right;
  EmptyRows empty_rows;
  void* scratch;  // 64-byte aligned
};

using AttentionF32 = Attention<float, float>;
using AttentionBf16 = Attention<Bf16, void>;

// Scratch of one share, in floats from its start; the same for every variant.
struct AttentionScratch {
  std::size_t keys, values, queries, sums, scores, weights, flags, total;
};

// Rows of queries whose sums are kept at a time, rows that are computed together at most, and the
// keys whose scores are kept at a time: with 8 rows, a third of the first-level cache.
constexpr std::size_t kAttentionBlockRows = 64, kAttentionTileRows = 16, kAttentionChunk = 512;
// A row of scores ends in a line of its own, so that rows do not fall on the same cache sets.
constexpr std::size_t kAttentionScoreStride = kAttentionChunk + 16;

[[maybe_unused]] static constexpr AttentionScratch attention_scratch(
    std::size_t keys, std::size_t size, std::size_t value_size) noexcept {
  const std::size_t all_keys = (keys + 31) / 32 * 32, depth = (size + 31) / 32 * 32;
  const std::size_t width = (value_size + 15) / 16 * 16;
  AttentionScratch s{};
  s.values = s.keys + all_keys * depth;
  s.queries = s.values + all_keys * width;
  s.sums = s.queries + kAttentionBlockRows * depth;
  s.scores = s.sums + kAttentionBlockRows * width;
  s.weights = s.scores + kAttentionTileRows * kAttentionScoreStride;
  s.flags = s.weights + kAttentionTileRows * kAttentionScoreStride;
  s.total = s.flags + (all_keys / 128 + 16) / 16 * 16;
  return s;
}

using AttentionF32Kernel = void(const AttentionF32&, Share) noexcept;
using AttentionBf16Kernel = void(const AttentionBf16&, Share) noexcept;

#define FORGE_KERNEL(isa, name) AttentionF32Kernel name;
#include "kernels/attention/kernels_f32.inc"
#undef FORGE_KERNEL
#define FORGE_KERNEL(isa, name) AttentionBf16Kernel name;
#include "kernels/attention/kernels_bf16.inc"
#undef FORGE_KERNEL

}  // namespace forge
