#include <immintrin.h>

#include "probe/chains.inc"
#include "probe/loops.h"

namespace forge {
namespace {

struct Line {
  __m256i low = _mm256_setzero_si256(), high = _mm256_setzero_si256();
};

[[gnu::always_inline]] inline Line load(const std::byte* from) noexcept {
  const auto* const halves = reinterpret_cast<const __m256i*>(from);
  return {_mm256_load_si256(halves), _mm256_load_si256(halves + 1)};
}
[[gnu::always_inline]] inline Line both(Line a, Line b) noexcept {
  return {_mm256_xor_si256(a.low, b.low), _mm256_xor_si256(a.high, b.high)};
}
[[gnu::always_inline]] inline std::uint64_t bits(Line line) noexcept {
  return static_cast<std::uint64_t>(_mm256_movemask_epi8(_mm256_xor_si256(line.low, line.high)));
}

}  // namespace
}  // namespace forge

#include "probe/read.inc"

namespace forge {

// Each chain tends to 1: no denormals, no overflow.
float compute_f32_avx2(std::size_t rounds) noexcept {
  const __m256 factor = _mm256_set1_ps(0.5f);
  __m256 chains[12];
#pragma GCC unroll 16
  for (int chain = 0; chain < 12; ++chain) {
    chains[chain] = _mm256_set1_ps(static_cast<float>(chain));
  }
  advance(chains, rounds, [&](__m256 x) { return _mm256_fmadd_ps(x, factor, factor); });
  __m256 sum = _mm256_setzero_ps();
#pragma GCC unroll 16
  for (int chain = 0; chain < 12; ++chain) sum = _mm256_add_ps(sum, chains[chain]);
  return _mm256_cvtss_f32(sum);
}

// Products of bytes as in a matrix product: multiplied, added in pairs twice, accumulated. One
// operand is the chain itself, or the compiler would multiply once before the loop.
float compute_i8_avx2(std::size_t rounds) noexcept {
  const __m256i ones = _mm256_set1_epi16(1), weights = _mm256_set1_epi8(1);
  __m256i chains[12];
#pragma GCC unroll 16
  for (int chain = 0; chain < 12; ++chain)
    chains[chain] = _mm256_set1_epi8(static_cast<char>(chain));
  __m256i unknown = weights;
  advance(chains, rounds, [&](__m256i sum) {
    asm("" : "+x"(unknown));
    const __m256i pairs = _mm256_maddubs_epi16(unknown, weights);
    return _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, ones));
  });
  __m256i sum = _mm256_setzero_si256();
#pragma GCC unroll 16
  for (int chain = 0; chain < 12; ++chain) sum = _mm256_add_epi32(sum, chains[chain]);
  return static_cast<float>(_mm_cvtsi128_si32(_mm256_castsi256_si128(sum)));
}

std::uint64_t read_avx2(const std::byte* from, std::size_t bytes, unsigned streams) noexcept {
  return read(from, bytes, streams);
}

}  // namespace forge
