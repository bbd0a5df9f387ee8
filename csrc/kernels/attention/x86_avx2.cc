#include <immintrin.h>

#include "kernels/attention/args.h"

#define FORGE_INLINE [[gnu::always_inline]] inline

namespace forge {
namespace {

using Vec = __m256;

constexpr std::size_t kWidth = 8;
// 12 sums, two vectors of keys or columns and a factor: 15 of 16 registers.
constexpr std::size_t kRows = 6, kVectors = 2, kWide = 2, kWideRows = 6, kDotRows = 2;

FORGE_INLINE __m256i lane_index() noexcept { return _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7); }

// A mask that selects the first `count` of eight lanes.
FORGE_INLINE __m256i first_lanes(std::size_t count) noexcept {
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(count)), lane_index());
}

FORGE_INLINE Vec fill(float value) noexcept { return _mm256_set1_ps(value); }
FORGE_INLINE Vec load(const float* from) noexcept { return _mm256_loadu_ps(from); }
FORGE_INLINE void store(float* to, Vec v) noexcept { _mm256_storeu_ps(to, v); }

FORGE_INLINE Vec load(const Bf16* from) noexcept {
  const __m128i halves = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
  return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(halves), 16));
}

FORGE_INLINE Vec load_first(const float* from, std::size_t count) noexcept {
  return count == kWidth ? load(from) : _mm256_maskload_ps(from, first_lanes(count));
}

FORGE_INLINE Vec load_first(const Bf16* from, std::size_t count) noexcept {
  Bf16 entries[kWidth] = {};
  for (std::size_t i = 0; i < count; ++i) entries[i] = from[i];
  return load(entries);
}

FORGE_INLINE void store_first(float* to, Vec v, std::size_t count) noexcept {
  if (count == kWidth) return store(to, v);
  _mm256_maskstore_ps(to, first_lanes(count), v);
}

// To the nearest bfloat16, ties to even; NaN stays NaN.
FORGE_INLINE void store_first(Bf16* to, Vec v, std::size_t count) noexcept {
  const __m256i bits = _mm256_castps_si256(v);
  const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
  const __m256i sum = _mm256_add_epi32(bits, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff)));
  const __m256i quiet = _mm256_or_si256(bits, _mm256_set1_epi32(0x400000));
  const Vec rounded = _mm256_blendv_ps(_mm256_castsi256_ps(sum), _mm256_castsi256_ps(quiet),
                                       _mm256_cmp_ps(v, v, _CMP_UNORD_Q));
  const __m256i halves = _mm256_srli_epi32(_mm256_castps_si256(rounded), 16);
  const __m128i packed =
      _mm_packus_epi32(_mm256_castsi256_si128(halves), _mm256_extracti128_si256(halves, 1));
  if (count == kWidth) {
    return _mm_storeu_si128(reinterpret_cast<__m128i*>(to), packed);
  }
  alignas(16) Bf16 entries[kWidth];
  _mm_store_si128(reinterpret_cast<__m128i*>(entries), packed);
  for (std::size_t i = 0; i < count; ++i) to[i] = entries[i];
}

FORGE_INLINE Vec add(Vec a, Vec b) noexcept { return _mm256_add_ps(a, b); }
FORGE_INLINE Vec sub(Vec a, Vec b) noexcept { return _mm256_sub_ps(a, b); }
FORGE_INLINE Vec mul(Vec a, Vec b) noexcept { return _mm256_mul_ps(a, b); }
// Of the product and the sum, only the result rounds: a b + c and c - a b.
FORGE_INLINE Vec fma(Vec a, Vec b, Vec c) noexcept { return _mm256_fmadd_ps(a, b, c); }
FORGE_INLINE Vec negated_fma(Vec a, Vec b, Vec c) noexcept { return _mm256_fnmadd_ps(a, b, c); }
FORGE_INLINE Vec multiply_add(Vec a, Vec b, Vec c) noexcept { return _mm256_fmadd_ps(a, b, c); }

// The larger one, or `known` where `v` is NaN.
FORGE_INLINE Vec max_unless_nan(Vec v, Vec known) noexcept { return _mm256_max_ps(v, known); }

FORGE_INLINE float reduce_max(Vec v) noexcept {
  __m128 top = _mm_max_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
  top = _mm_max_ps(top, _mm_movehl_ps(top, top));
  return _mm_cvtss_f32(_mm_max_ss(top, _mm_movehdup_ps(top)));
}

FORGE_INLINE float reduce_add(Vec v) noexcept {
  __m128 sum = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
  sum = _mm_add_ps(sum, _mm_movehl_ps(sum, sum));
  return _mm_cvtss_f32(_mm_add_ss(sum, _mm_movehdup_ps(sum)));
}

// -inf in all lanes but [begin, end).
FORGE_INLINE Vec hide_outside(Vec v, std::size_t begin, std::size_t end) noexcept {
  const __m256i seen = _mm256_andnot_si256(first_lanes(begin), first_lanes(end));
  return _mm256_blendv_ps(fill(-__builtin_inff()), v, _mm256_castsi256_ps(seen));
}

// 0, or -inf where a byte is zero.
FORGE_INLINE Vec hidden_where_zero(const std::uint8_t* from) noexcept {
  const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(from));
  const __m256i hidden = _mm256_cmpeq_epi32(_mm256_cvtepu8_epi32(bytes), _mm256_setzero_si256());
  return _mm256_and_ps(_mm256_castsi256_ps(hidden), fill(-__builtin_inff()));
}

// Zero where `v` is below the limit; NaN is not.
FORGE_INLINE Vec zero_if_below(Vec v, Vec limit) noexcept {
  return _mm256_and_ps(v, _mm256_cmp_ps(v, limit, _CMP_NLT_UQ));
}

// v 2^power, or zero where x is below the limit; NaN is not. The lowest bits of `shifted` are the
// biased power, from 1 to 254.
FORGE_INLINE Vec scale_unless_below(Vec v, Vec, Vec shifted, Vec x, Vec limit) noexcept {
  const __m256i factor = _mm256_slli_epi32(_mm256_castps_si256(shifted), 23);
  const Vec scaled = mul(v, _mm256_castsi256_ps(factor));
  return _mm256_and_ps(scaled, _mm256_cmp_ps(x, limit, _CMP_NLT_UQ));
}

// The sums of the lanes of each, times a factor.
FORGE_INLINE void store_four_sums(Vec a, Vec b, Vec c, Vec d, float factor, float* to) noexcept {
  const Vec abcd = _mm256_hadd_ps(_mm256_hadd_ps(a, b), _mm256_hadd_ps(c, d));
  const __m128 sums = _mm_add_ps(_mm256_castps256_ps128(abcd), _mm256_extractf128_ps(abcd, 1));
  _mm_storeu_ps(to, _mm_mul_ps(sums, _mm_set1_ps(factor)));
}

FORGE_INLINE void transpose(Vec (&rows)[kWidth]) noexcept {
  Vec t[kWidth];
#pragma GCC unroll 4
  for (int i = 0; i < 8; i += 2) {
    t[i] = _mm256_unpacklo_ps(rows[i], rows[i + 1]);
    t[i + 1] = _mm256_unpackhi_ps(rows[i], rows[i + 1]);
  }
#pragma GCC unroll 2
  for (int i = 0; i < 8; i += 4) {
    rows[i] = _mm256_shuffle_ps(t[i], t[i + 2], 0x44);
    rows[i + 1] = _mm256_shuffle_ps(t[i], t[i + 2], 0xee);
    rows[i + 2] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0x44);
    rows[i + 3] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0xee);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    t[i] = _mm256_permute2f128_ps(rows[i], rows[i + 4], 0x20);
    t[i + 4] = _mm256_permute2f128_ps(rows[i], rows[i + 4], 0x31);
  }
#pragma GCC unroll 8
  for (int i = 0; i < 8; ++i) rows[i] = t[i];
}

}  // namespace
}  // namespace forge

#include "kernels/attention/walk.inc"

namespace forge {

void attention_f32_avx2(const AttentionF32& args, Share share) noexcept { run(args, share); }

void attention_bf16_avx2(const AttentionBf16& args, Share share) noexcept { run(args, share); }

}  // namespace forge
