#include <immintrin.h>

#include "kernels/elementwise/args.h"
#include "kernels/linear/args.h"

#define FORGE_INLINE [[gnu::always_inline]] inline

namespace forge {
namespace {

using Vec = __m256;
using Mask = __m256;
using Ints = std::int32_t __attribute__((vector_size(32)));
using Words = std::uint32_t __attribute__((vector_size(32)));

constexpr std::size_t kWidth = 8;

FORGE_INLINE Vec fill(float value) noexcept { return _mm256_set1_ps(value); }
FORGE_INLINE Vec load(const float* from) noexcept { return _mm256_loadu_ps(from); }
FORGE_INLINE void store(float* to, Vec v) noexcept { _mm256_storeu_ps(to, v); }
FORGE_INLINE Vec widen_f16(const std::uint16_t* from) noexcept {
  return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
}
FORGE_INLINE __m128i halves_of(Vec v) noexcept {
  return _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
FORGE_INLINE void narrow_f16(std::uint16_t* to, Vec v) noexcept {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to), halves_of(v));
}
FORGE_INLINE Vec round_f16(Vec v) noexcept { return _mm256_cvtph_ps(halves_of(v)); }

FORGE_INLINE Vec add(Vec a, Vec b) noexcept { return _mm256_add_ps(a, b); }
FORGE_INLINE Vec sub(Vec a, Vec b) noexcept { return _mm256_sub_ps(a, b); }
FORGE_INLINE Vec mul(Vec a, Vec b) noexcept { return _mm256_mul_ps(a, b); }
FORGE_INLINE Vec div(Vec a, Vec b) noexcept { return _mm256_div_ps(a, b); }
FORGE_INLINE Vec negative(Vec v) noexcept { return sub(fill(0.0f), v); }
FORGE_INLINE Vec absolute(Vec v) noexcept { return _mm256_andnot_ps(fill(-0.0f), v); }
FORGE_INLINE Vec square_root(Vec v) noexcept { return _mm256_sqrt_ps(v); }
// Of the product and the sum, only the result rounds: a b + c and c - a b.
FORGE_INLINE Vec fma(Vec a, Vec b, Vec c) noexcept { return _mm256_fmadd_ps(a, b, c); }
FORGE_INLINE Vec negated_fma(Vec a, Vec b, Vec c) noexcept { return _mm256_fnmadd_ps(a, b, c); }
// NaN in `v` stays NaN.
FORGE_INLINE Vec min(Vec limit, Vec v) noexcept { return _mm256_min_ps(limit, v); }
FORGE_INLINE Vec max(Vec limit, Vec v) noexcept { return _mm256_max_ps(limit, v); }

FORGE_INLINE Mask less(Vec a, Vec b) noexcept { return _mm256_cmp_ps(a, b, _CMP_LT_OQ); }
FORGE_INLINE Mask equal(Vec a, Vec b) noexcept { return _mm256_cmp_ps(a, b, _CMP_EQ_OQ); }
FORGE_INLINE Vec select(Mask mask, Vec yes, Vec no) noexcept {
  return _mm256_blendv_ps(no, yes, mask);
}
FORGE_INLINE bool any(Ints v) noexcept {
  return _mm256_movemask_ps(__builtin_bit_cast(__m256, v)) != 0;
}

FORGE_INLINE Vec round(Vec v) noexcept {
  return _mm256_round_ps(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
FORGE_INLINE Vec floor_of(Vec v) noexcept {
  return _mm256_round_ps(v, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
}
FORGE_INLINE Vec ceiling(Vec v) noexcept {
  return _mm256_round_ps(v, _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC);
}
FORGE_INLINE Vec truncate(Vec v) noexcept {
  return _mm256_round_ps(v, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
}
FORGE_INLINE Vec to_vec(Ints v) noexcept {
  return _mm256_cvtepi32_ps(__builtin_bit_cast(__m256i, v));
}
FORGE_INLINE Ints to_ints(Vec v) noexcept {
  return __builtin_bit_cast(Ints, _mm256_cvtps_epi32(v));
}

// 2^n for integers from -126 to 127.
FORGE_INLINE Vec power_of_two(Ints n) noexcept { return __builtin_bit_cast(Vec, (n + 127) << 23); }
// v 2^power for integers from -252 to 254, by two factors of which only the second may round.
FORGE_INLINE Vec scale_any(Vec v, Vec power) noexcept {
  const Ints n = to_ints(power), half = n >> 1;
  return mul(mul(v, power_of_two(half)), power_of_two(n - half));
}
FORGE_INLINE Vec scale(Vec v, Vec power) noexcept { return scale_any(v, power); }

}  // namespace
}  // namespace forge

#include "kernels/linear/activation.inc"
//
#include "kernels/elementwise/lanes.inc"
#include "kernels/elementwise/math.inc"
//
#include "kernels/elementwise/machine.inc"

namespace forge {

void elementwise_avx2(const Elementwise& args, Share share) noexcept { run(args, share); }

}  // namespace forge
