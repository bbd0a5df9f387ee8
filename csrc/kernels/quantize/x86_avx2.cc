#include "kernels/vec/avx2.inc"

namespace forge {
namespace {

using Magnitudes = __m256i;

FORGE_INLINE Magnitudes magnitudes(Vec v) noexcept {
  return _mm256_and_si256(_mm256_castps_si256(v), _mm256_set1_epi32(0x7fffffff));
}
FORGE_INLINE Magnitudes larger(Magnitudes a, Magnitudes b) noexcept {
  return _mm256_max_epu32(a, b);
}
FORGE_INLINE std::uint32_t largest(Magnitudes m) noexcept {
  __m128i four = _mm_max_epu32(_mm256_castsi256_si128(m), _mm256_extracti128_si256(m, 1));
  four = _mm_max_epu32(four, _mm_shuffle_epi32(four, 0b01001110));
  four = _mm_max_epu32(four, _mm_shuffle_epi32(four, 0b10110001));
  return static_cast<std::uint32_t>(_mm_cvtsi128_si32(four));
}
FORGE_INLINE void store_magnitudes(std::uint32_t* to, Magnitudes m) noexcept {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), m);
}

// The nearest integers of four vectors, ties to even.
FORGE_INLINE void store_bytes(std::int8_t* to, Vec v0, Vec v1, Vec v2, Vec v3) noexcept {
  const __m256i low = _mm256_packs_epi32(_mm256_cvtps_epi32(v0), _mm256_cvtps_epi32(v1));
  const __m256i high = _mm256_packs_epi32(_mm256_cvtps_epi32(v2), _mm256_cvtps_epi32(v3));
  // Packing works within halves of 16 bytes: put groups of four back in order.
  const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
  const __m256i bytes = _mm256_permutevar8x32_epi32(_mm256_packs_epi16(low, high), order);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), bytes);
}

}  // namespace
}  // namespace forge

#include "kernels/quantize/rows.inc"
#include "kernels/quantize/weights.inc"

namespace forge {

void quantize_rows_avx2(const QuantizeRows& args, Share share) noexcept {
  quantize_rows(args, share);
}

void quantize_weights_avx2(const QuantizeWeights& args, Share share) noexcept {
  quantize_weights(args, share);
}

}  // namespace forge
