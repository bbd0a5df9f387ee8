#include <immintrin.h>

#include "kernels/attention/args.h"

#define FORGE_INLINE [[gnu::always_inline]] inline

namespace forge {
namespace {

using Vec = __m512;

constexpr std::size_t kWidth = 16;
// 24 sums, three vectors of keys and a factor, or 16 sums, four vectors of columns and a factor.
constexpr std::size_t kRows = 8, kVectors = 3, kWide = 4, kWideRows = 4, kDotRows = 4;

// A mask that selects the first `count` of sixteen lanes.
FORGE_INLINE __mmask16 first_lanes(std::size_t count) noexcept {
  return static_cast<__mmask16>((1u << count) - 1u);
}

FORGE_INLINE Vec fill(float value) noexcept { return _mm512_set1_ps(value); }
FORGE_INLINE Vec load(const float* from) noexcept { return _mm512_loadu_ps(from); }
FORGE_INLINE void store(float* to, Vec v) noexcept { _mm512_storeu_ps(to, v); }

FORGE_INLINE Vec widen(__m256i halves) noexcept {
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(halves), 16));
}

FORGE_INLINE Vec load(const Bf16* from) noexcept {
  return widen(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
}

FORGE_INLINE Vec load_first(const float* from, std::size_t count) noexcept {
  return _mm512_maskz_loadu_ps(first_lanes(count), from);
}

FORGE_INLINE Vec load_first(const Bf16* from, std::size_t count) noexcept {
  return widen(_mm256_maskz_loadu_epi16(first_lanes(count), from));
}

FORGE_INLINE void store_first(float* to, Vec v, std::size_t count) noexcept {
  _mm512_mask_storeu_ps(to, first_lanes(count), v);
}

FORGE_INLINE Vec add(Vec a, Vec b) noexcept { return _mm512_add_ps(a, b); }
FORGE_INLINE Vec sub(Vec a, Vec b) noexcept { return _mm512_sub_ps(a, b); }
FORGE_INLINE Vec mul(Vec a, Vec b) noexcept { return _mm512_mul_ps(a, b); }
// Of the product and the sum, only the result rounds: a b + c and c - a b.
FORGE_INLINE Vec fma(Vec a, Vec b, Vec c) noexcept { return _mm512_fmadd_ps(a, b, c); }
FORGE_INLINE Vec negated_fma(Vec a, Vec b, Vec c) noexcept { return _mm512_fnmadd_ps(a, b, c); }
FORGE_INLINE Vec multiply_add(Vec a, Vec b, Vec c) noexcept { return _mm512_fmadd_ps(a, b, c); }

// The larger one, or `known` where `v` is NaN. (GCC 12 finds what its unmasked intrinsics and
// reductions do at fault.)
FORGE_INLINE Vec max_unless_nan(Vec v, Vec known) noexcept {
  return _mm512_maskz_max_ps(0xffff, v, known);
}

FORGE_INLINE __m256 low_half(Vec v) noexcept { return _mm512_extractf32x8_ps(v, 0); }
FORGE_INLINE __m256 high_half(Vec v) noexcept { return _mm512_extractf32x8_ps(v, 1); }

FORGE_INLINE float reduce_max(Vec v) noexcept {
  const __m256 half = _mm256_max_ps(low_half(v), high_half(v));
  __m128 top = _mm_max_ps(_mm256_castps256_ps128(half), _mm256_extractf128_ps(half, 1));
  top = _mm_max_ps(top, _mm_movehl_ps(top, top));
  return _mm_cvtss_f32(_mm_max_ss(top, _mm_movehdup_ps(top)));
}

FORGE_INLINE float reduce_add(Vec v) noexcept {
  const __m256 half = _mm256_add_ps(low_half(v), high_half(v));
  __m128 sum = _mm_add_ps(_mm256_castps256_ps128(half), _mm256_extractf128_ps(half, 1));
  sum = _mm_add_ps(sum, _mm_movehl_ps(sum, sum));
  return _mm_cvtss_f32(_mm_add_ss(sum, _mm_movehdup_ps(sum)));
}

// -inf in all lanes but [begin, end).
FORGE_INLINE Vec hide_outside(Vec v, std::size_t begin, std::size_t end) noexcept {
  const auto seen = static_cast<__mmask16>(first_lanes(end) & ~first_lanes(begin));
  return _mm512_mask_blend_ps(seen, fill(-__builtin_inff()), v);
}

// 0, or -inf where a byte is zero.
FORGE_INLINE Vec hidden_where_zero(const std::uint8_t* from) noexcept {
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
  const __mmask16 seen = _mm_test_epi8_mask(bytes, bytes);
  return _mm512_mask_blend_ps(seen, fill(-__builtin_inff()), fill(0.0f));
}

// Zero where `v` is below the limit; NaN is not.
FORGE_INLINE Vec zero_if_below(Vec v, Vec limit) noexcept {
  return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(v, limit, _CMP_NLT_UQ), v);
}

// v 2^power, or zero where x is below the limit; NaN is not.
FORGE_INLINE Vec scale_unless_below(Vec v, Vec power, Vec, Vec x, Vec limit) noexcept {
  return _mm512_maskz_scalef_ps(_mm512_cmp_ps_mask(x, limit, _CMP_NLT_UQ), v, power);
}

// The sums of the lanes of each, times a factor.
FORGE_INLINE void store_four_sums(Vec a, Vec b, Vec c, Vec d, float factor, float* to) noexcept {
  // Lane by lane within 128 bits: a0 + a2, b0 + b2, a1 + a3, b1 + b3.
  const Vec ab = add(_mm512_unpacklo_ps(a, b), _mm512_unpackhi_ps(a, b));
  const Vec cd = add(_mm512_unpacklo_ps(c, d), _mm512_unpackhi_ps(c, d));
  const Vec abcd = add(_mm512_shuffle_ps(ab, cd, 0x44), _mm512_shuffle_ps(ab, cd, 0xee));
  const __m256 half = _mm256_add_ps(low_half(abcd), high_half(abcd));
  const __m128 sums = _mm_add_ps(_mm256_castps256_ps128(half), _mm256_extractf128_ps(half, 1));
  _mm_storeu_ps(to, _mm_mul_ps(sums, _mm_set1_ps(factor)));
}

FORGE_INLINE void transpose(Vec (&rows)[kWidth]) noexcept {
  Vec t[kWidth];
#pragma GCC unroll 8
  for (int i = 0; i < 16; i += 2) {
    t[i] = _mm512_unpacklo_ps(rows[i], rows[i + 1]);
    t[i + 1] = _mm512_unpackhi_ps(rows[i], rows[i + 1]);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 16; i += 4) {
    rows[i] = _mm512_shuffle_ps(t[i], t[i + 2], 0x44);
    rows[i + 1] = _mm512_shuffle_ps(t[i], t[i + 2], 0xee);
    rows[i + 2] = _mm512_shuffle_ps(t[i + 1], t[i + 3], 0x44);
    rows[i + 3] = _mm512_shuffle_ps(t[i + 1], t[i + 3], 0xee);
  }
#pragma GCC unroll 8
  for (int i = 0; i < 8; ++i) {
    const int at = i / 4 * 8 + i % 4;
    t[at] = _mm512_shuffle_f32x4(rows[at], rows[at + 4], 0x88);
    t[at + 4] = _mm512_shuffle_f32x4(rows[at], rows[at + 4], 0xdd);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    rows[i] = _mm512_shuffle_f32x4(t[i], t[i + 8], 0x88);
    rows[i + 8] = _mm512_shuffle_f32x4(t[i], t[i + 8], 0xdd);
    rows[i + 4] = _mm512_shuffle_f32x4(t[i + 4], t[i + 12], 0x88);
    rows[i + 12] = _mm512_shuffle_f32x4(t[i + 4], t[i + 12], 0xdd);
  }
}

}  // namespace
}  // namespace forge

#include "kernels/attention/walk.inc"

namespace forge {

void attention_f32_avx512(const AttentionF32& args, Share share) noexcept { run(args, share); }

void attention_bf16_avx512(const AttentionBf16& args, Share share) noexcept { run(args, share); }

}  // namespace forge
