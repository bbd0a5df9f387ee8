#include <immintrin.h>

#include <utility>

#include "kernels/linear/args.h"

#define FORGE_INLINE [[gnu::always_inline]] inline

namespace forge {
namespace {

using Vec = __m512;
using Mask = __mmask16;

constexpr std::size_t kWidth = 16;
// 24 sums, three vectors of columns and a factor: 28 of 32 registers.
constexpr std::size_t kRows = 8, kVectors = 3, kStreamRows = 4;

// A mask that selects the first `count` of sixteen lanes.
FORGE_INLINE __mmask16 first_lanes(std::size_t count) noexcept {
  return static_cast<__mmask16>((1u << count) - 1u);
}

FORGE_INLINE Vec fill(float value) noexcept { return _mm512_set1_ps(value); }
FORGE_INLINE Vec load(const float* from) noexcept { return _mm512_loadu_ps(from); }
FORGE_INLINE void store(float* to, Vec v) noexcept { _mm512_storeu_ps(to, v); }

FORGE_INLINE Vec load_first(const float* from, std::size_t count) noexcept {
  return _mm512_maskz_loadu_ps(first_lanes(count), from);
}

FORGE_INLINE void store_first(float* to, Vec v, std::size_t count) noexcept {
  _mm512_mask_storeu_ps(to, first_lanes(count), v);
}

FORGE_INLINE Vec add(Vec a, Vec b) noexcept { return _mm512_add_ps(a, b); }
FORGE_INLINE Vec sub(Vec a, Vec b) noexcept { return _mm512_sub_ps(a, b); }
FORGE_INLINE Vec mul(Vec a, Vec b) noexcept { return _mm512_mul_ps(a, b); }
FORGE_INLINE Vec div(Vec a, Vec b) noexcept { return _mm512_div_ps(a, b); }
FORGE_INLINE Vec negative(Vec v) noexcept { return sub(fill(0.0f), v); }
FORGE_INLINE Vec absolute(Vec v) noexcept { return _mm512_abs_ps(v); }
// Of the product and the sum, only the result rounds: a b + c and c - a b.
FORGE_INLINE Vec fma(Vec a, Vec b, Vec c) noexcept { return _mm512_fmadd_ps(a, b, c); }
FORGE_INLINE Vec negated_fma(Vec a, Vec b, Vec c) noexcept { return _mm512_fnmadd_ps(a, b, c); }
FORGE_INLINE Vec multiply_add(Vec a, Vec b, Vec c) noexcept { return _mm512_fmadd_ps(a, b, c); }
// NaN in `v` stays NaN.
FORGE_INLINE Vec min(Vec limit, Vec v) noexcept { return _mm512_min_ps(limit, v); }
FORGE_INLINE Vec max(Vec limit, Vec v) noexcept { return _mm512_max_ps(limit, v); }

FORGE_INLINE Mask less(Vec a, Vec b) noexcept { return _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ); }
FORGE_INLINE Mask equal(Vec a, Vec b) noexcept { return _mm512_cmp_ps_mask(a, b, _CMP_EQ_OQ); }
FORGE_INLINE Vec select(Mask mask, Vec yes, Vec no) noexcept {
  return _mm512_mask_blend_ps(mask, no, yes);
}

// To the nearest integer, and v 2^power for integers from -250 to 0.
FORGE_INLINE Vec round(Vec v) noexcept {
  return _mm512_roundscale_ps(v, _MM_FROUND_TO_NEAREST_INT);
}
FORGE_INLINE Vec scale(Vec v, Vec power) noexcept { return _mm512_scalef_ps(v, power); }

}  // namespace
}  // namespace forge

#include "kernels/linear/product.inc"

namespace forge {

void multiply_f32_avx512(const LinearF32& args, Share share) noexcept { run(args, share); }

void pack_f32_avx512(const LinearPackF32& args, Share share) noexcept { pack(args, share); }

const LinearF32Kernels linear_f32_avx512 = {packed_bytes, pack, run};

}  // namespace forge
