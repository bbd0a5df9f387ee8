#include <immintrin.h>

#include <utility>

#include "kernels/linear/args.h"

#define FORGE_INLINE [[gnu::always_inline]] inline

namespace forge {
namespace {

using Vec = __m256;
using Mask = __m256;

constexpr std::size_t kWidth = 8;
// 12 sums, two vectors of columns and a factor: 15 of 16 registers.
constexpr std::size_t kRows = 6, kVectors = 2, kStreamRows = 2;

// A mask that selects the first `count` of eight lanes.
FORGE_INLINE __m256i first_lanes(std::size_t count) noexcept {
  const __m256i index = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(count)), index);
}

FORGE_INLINE Vec fill(float value) noexcept { return _mm256_set1_ps(value); }
FORGE_INLINE Vec load(const float* from) noexcept { return _mm256_loadu_ps(from); }
FORGE_INLINE void store(float* to, Vec v) noexcept { _mm256_storeu_ps(to, v); }

FORGE_INLINE Vec load_first(const float* from, std::size_t count) noexcept {
  return count == kWidth ? load(from) : _mm256_maskload_ps(from, first_lanes(count));
}

FORGE_INLINE void store_first(float* to, Vec v, std::size_t count) noexcept {
  if (count == kWidth) return store(to, v);
  _mm256_maskstore_ps(to, first_lanes(count), v);
}

FORGE_INLINE Vec add(Vec a, Vec b) noexcept { return _mm256_add_ps(a, b); }
FORGE_INLINE Vec sub(Vec a, Vec b) noexcept { return _mm256_sub_ps(a, b); }
FORGE_INLINE Vec mul(Vec a, Vec b) noexcept { return _mm256_mul_ps(a, b); }
FORGE_INLINE Vec div(Vec a, Vec b) noexcept { return _mm256_div_ps(a, b); }
FORGE_INLINE Vec negative(Vec v) noexcept { return sub(fill(0.0f), v); }
FORGE_INLINE Vec absolute(Vec v) noexcept { return _mm256_andnot_ps(fill(-0.0f), v); }
// Of the product and the sum, only the result rounds: a b + c and c - a b.
FORGE_INLINE Vec fma(Vec a, Vec b, Vec c) noexcept { return _mm256_fmadd_ps(a, b, c); }
FORGE_INLINE Vec negated_fma(Vec a, Vec b, Vec c) noexcept { return _mm256_fnmadd_ps(a, b, c); }
FORGE_INLINE Vec multiply_add(Vec a, Vec b, Vec c) noexcept { return _mm256_fmadd_ps(a, b, c); }
// NaN in `v` stays NaN.
FORGE_INLINE Vec min(Vec limit, Vec v) noexcept { return _mm256_min_ps(limit, v); }
FORGE_INLINE Vec max(Vec limit, Vec v) noexcept { return _mm256_max_ps(limit, v); }

FORGE_INLINE Mask less(Vec a, Vec b) noexcept { return _mm256_cmp_ps(a, b, _CMP_LT_OQ); }
FORGE_INLINE Mask equal(Vec a, Vec b) noexcept { return _mm256_cmp_ps(a, b, _CMP_EQ_OQ); }
FORGE_INLINE Vec select(Mask mask, Vec yes, Vec no) noexcept {
  return _mm256_blendv_ps(no, yes, mask);
}

FORGE_INLINE Vec round(Vec v) noexcept {
  return _mm256_round_ps(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

// 2^power for integers from -126 to 127.
FORGE_INLINE Vec power_of_two(__m256i power) noexcept {
  return _mm256_castsi256_ps(
      _mm256_slli_epi32(_mm256_add_epi32(power, _mm256_set1_epi32(127)), 23));
}

// v 2^power for integers from -250 to 0, in two steps of which only the second may round.
FORGE_INLINE Vec scale(Vec v, Vec power) noexcept {
  const __m256i whole = _mm256_cvtps_epi32(power);
  const __m256i half = _mm256_srai_epi32(whole, 1);
  return mul(mul(v, power_of_two(half)), power_of_two(_mm256_sub_epi32(whole, half)));
}

}  // namespace
}  // namespace forge

#include "kernels/linear/product.inc"

namespace forge {

void multiply_f32_avx2(const LinearF32& args, Share share) noexcept { run(args, share); }

void pack_f32_avx2(const LinearPackF32& args, Share share) noexcept { pack(args, share); }

const LinearF32Kernels linear_f32_avx2 = {packed_bytes, pack, run};

}  // namespace forge
