#include <immintrin.h>

#include "probe/chains.inc"
#include "probe/loops.h"

namespace forge {

float compute_bf16_avx512_bf16(std::size_t rounds) noexcept {
  const __m512bh ones = _mm512_cvtne2ps_pbh(_mm512_set1_ps(1.0f), _mm512_set1_ps(1.0f));
  __m512 chains[16];
#pragma GCC unroll 16
  for (int chain = 0; chain < 16; ++chain) {
    chains[chain] = _mm512_set1_ps(static_cast<float>(chain));
  }
  advance(chains, rounds, [&](__m512 sum) { return _mm512_dpbf16_ps(sum, ones, ones); });
  __m512 sum = _mm512_setzero_ps();
#pragma GCC unroll 16
  for (int chain = 0; chain < 16; ++chain) sum = _mm512_add_ps(sum, chains[chain]);
  return _mm512_cvtss_f32(sum);
}

}  // namespace forge
