#include <immintrin.h>

#include "probe/chains.inc"
#include "probe/loops.h"

namespace forge {

float compute_i8_avx512_vnni(std::size_t rounds) noexcept {
  const __m512i ones = _mm512_set1_epi8(1);
  __m512i chains[16];
#pragma GCC unroll 16
  for (int chain = 0; chain < 16; ++chain) chains[chain] = _mm512_set1_epi32(chain);
  advance(chains, rounds, [&](__m512i sum) { return _mm512_dpbusd_epi32(sum, ones, ones); });
  __m512i sum = _mm512_setzero_si512();
#pragma GCC unroll 16
  for (int chain = 0; chain < 16; ++chain) sum = _mm512_add_epi32(sum, chains[chain]);
  alignas(64) int lanes[16];
  _mm512_store_si512(lanes, sum);
  return static_cast<float>(lanes[0]);
}

}  // namespace forge
