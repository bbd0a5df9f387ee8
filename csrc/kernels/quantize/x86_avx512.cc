#include "kernels/vec/avx512.inc"

namespace forge {
namespace {

using Magnitudes = __m512i;

FORGE_INLINE Magnitudes magnitudes(Vec v) noexcept {
  return _mm512_and_si512(_mm512_castps_si512(v), _mm512_set1_epi32(0x7fffffff));
}
FORGE_INLINE Magnitudes larger(Magnitudes a, Magnitudes b) noexcept {
  return _mm512_max_epu32(a, b);
}
FORGE_INLINE std::uint32_t largest(Magnitudes m) noexcept { return _mm512_reduce_max_epu32(m); }
FORGE_INLINE void store_magnitudes(std::uint32_t* to, Magnitudes m) noexcept {
  _mm512_storeu_si512(to, m);
}

// The nearest integers of four vectors, ties to even.
FORGE_INLINE void store_bytes(std::int8_t* to, Vec v0, Vec v1, Vec v2, Vec v3) noexcept {
  auto* at = reinterpret_cast<__m128i*>(to);
  _mm_storeu_si128(at, _mm512_cvtepi32_epi8(_mm512_cvtps_epi32(v0)));
  _mm_storeu_si128(at + 1, _mm512_cvtepi32_epi8(_mm512_cvtps_epi32(v1)));
  _mm_storeu_si128(at + 2, _mm512_cvtepi32_epi8(_mm512_cvtps_epi32(v2)));
  _mm_storeu_si128(at + 3, _mm512_cvtepi32_epi8(_mm512_cvtps_epi32(v3)));
}

}  // namespace
}  // namespace forge

#include "kernels/quantize/rows.inc"
#include "kernels/quantize/weights.inc"

namespace forge {

void quantize_rows_avx512(const QuantizeRows& args, Share share) noexcept {
  quantize_rows(args, share);
}

void quantize_weights_avx512(const QuantizeWeights& args, Share share) noexcept {
  quantize_weights(args, share);
}

}  // namespace forge
