#include <immintrin.h>

#include "probe/chains.inc"
#include "probe/loops.h"

namespace forge {
namespace {

using Line = __m512i;

[[gnu::always_inline]] inline Line load(const std::byte* from) noexcept {
  return _mm512_load_si512(from);
}
[[gnu::always_inline]] inline Line both(Line a, Line b) noexcept { return _mm512_xor_si512(a, b); }
[[gnu::always_inline]] inline std::uint64_t bits(Line line) noexcept {
  return static_cast<std::uint64_t>(_mm512_reduce_or_epi64(line));
}

}  // namespace
}  // namespace forge

#include "probe/read.inc"

namespace forge {

// Each chain tends to 1: no denormals, no overflow.
float compute_f32_avx512(std::size_t rounds) noexcept {
  const __m512 factor = _mm512_set1_ps(0.5f);
  __m512 chains[16];
#pragma GCC unroll 16
  for (int chain = 0; chain < 16; ++chain) {
    chains[chain] = _mm512_set1_ps(static_cast<float>(chain));
  }
  advance(chains, rounds, [&](__m512 x) { return _mm512_fmadd_ps(x, factor, factor); });
  __m512 sum = _mm512_setzero_ps();
#pragma GCC unroll 16
  for (int chain = 0; chain < 16; ++chain) sum = _mm512_add_ps(sum, chains[chain]);
  return _mm512_cvtss_f32(sum);
}

std::uint64_t read_avx512(const std::byte* from, std::size_t bytes, unsigned streams) noexcept {
  return read(from, bytes, streams);
}

}  // namespace forge
