#include <cstring>

#include "probe/chains.inc"
#include "probe/loops.h"

namespace forge {
namespace {

struct Line {
  std::uint64_t words[8] = {};
};

[[gnu::always_inline]] inline Line load(const std::byte* from) noexcept {
  Line line;
  std::memcpy(line.words, from, sizeof(line.words));
  return line;
}
[[gnu::always_inline]] inline Line both(Line a, const Line& b) noexcept {
  for (int i = 0; i < 8; ++i) a.words[i] ^= b.words[i];
  return a;
}
[[gnu::always_inline]] inline std::uint64_t bits(const Line& line) noexcept {
  std::uint64_t all = 0;
  for (std::uint64_t word : line.words) all ^= word;
  return all;
}

}  // namespace
}  // namespace forge

#include "probe/read.inc"

namespace forge {

// Each chain tends to 1. Vectors of GCC and Clang, as in the portable kernels.
float compute_f32_none(std::size_t rounds) noexcept {
  using Vec = float __attribute__((vector_size(16)));
  const Vec factor = {0.5f, 0.5f, 0.5f, 0.5f};
  Vec chains[12];
#pragma GCC unroll 16
  for (int chain = 0; chain < 12; ++chain) chains[chain] = factor * static_cast<float>(chain);
  advance(chains, rounds, [&](Vec x) { return x * factor + factor; });
  Vec sum = {};
#pragma GCC unroll 16
  for (int chain = 0; chain < 12; ++chain) sum += chains[chain];
  return sum[0];
}

std::uint64_t read_none(const std::byte* from, std::size_t bytes, unsigned streams) noexcept {
  return read(from, bytes, streams);
}

}  // namespace forge
