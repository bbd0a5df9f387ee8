#include <utility>

#include "kernels/linear/vec_avx512.inc"

namespace forge {
namespace {

// 24 sums, three vectors of columns and a factor: 28 of 32 registers.
constexpr std::size_t kRows = 8, kVectors = 3, kStreamRows = 4;

using Factor = Bf16;
constexpr std::size_t kFactors = 2, kGroupBlock = 1;  // depths of a group; groups of a block
constexpr bool kHalfGroups = true;

// Two elements of x in every lane, or one and a zero.
template <bool kHalf>
FORGE_INLINE __m512bh pair_of(const Factor* x) noexcept {
  if constexpr (kHalf) return (__m512bh)_mm512_set1_epi32(static_cast<int>(*x));
  int bits;
  __builtin_memcpy(&bits, x, sizeof bits);
  return (__m512bh)_mm512_set1_epi32(bits);
}

template <std::size_t Rows, std::size_t Vectors, std::size_t Panels, bool kHalf = false>
FORGE_INLINE void accumulate(Vec (&sums)[Rows][Panels * Vectors], const Factor* x,
                             std::ptrdiff_t x_stride, const float* w, std::size_t next) noexcept {
  Vec columns[Panels * Vectors];
#pragma GCC unroll 8
  for (std::size_t v = 0; v < Panels * Vectors; ++v) {
    columns[v] = load(w + (v / Vectors) * next + (v % Vectors) * kWidth);
  }
#pragma GCC unroll 8
  for (std::size_t r = 0; r < Rows; ++r) {
    const __m512bh factor = pair_of<kHalf>(x + static_cast<std::ptrdiff_t>(r) * x_stride);
#pragma GCC unroll 8
    for (std::size_t v = 0; v < Panels * Vectors; ++v) {
      sums[r][v] = _mm512_dpbf16_ps(sums[r][v], (__m512bh)columns[v], factor);
      pin(sums[r][v]);
    }
  }
}

struct Factors {
  const Factor* x;
  std::ptrdiff_t stride;
  std::size_t groups;
  bool half_group;
};

Factors factors_of(const LinearBf16& a, Range rows, Share) noexcept {
  return {a.x + static_cast<std::ptrdiff_t>(rows.begin) * a.x_stride, a.x_stride, a.depth / 2,
          a.depth % 2 != 0};
}

}  // namespace
}  // namespace forge

// In this order each needs the one before it.
#include "kernels/linear/epilogue.inc"
#include "kernels/linear/layout.inc"
#include "kernels/linear/pack.inc"
#include "kernels/linear/product.inc"

namespace forge {

void linear_bf16_avx512_bf16(const LinearBf16& args, Share share) noexcept { run(args, share); }

void linear_pack_bf16_avx512_bf16(const LinearPackBf16& args, Share share) noexcept {
  pack_bf16(args, share);
}

void linear_gather_bf16_avx512_bf16(const LinearGather& args, Share share) noexcept {
  gather_packed<Bf16>(args, share);
}

}  // namespace forge
