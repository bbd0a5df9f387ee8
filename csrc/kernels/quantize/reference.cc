#include "kernels/vec/portable.inc"

namespace forge {
namespace {

using Magnitudes = Bits;

FORGE_INLINE Magnitudes magnitudes(Vec v) noexcept { return std::bit_cast<Bits>(v) & 0x7fffffffu; }
FORGE_INLINE Magnitudes larger(Magnitudes a, Magnitudes b) noexcept { return a > b ? a : b; }
FORGE_INLINE std::uint32_t largest(Magnitudes m) noexcept {
  std::uint32_t found = 0;
  for (std::size_t lane = 0; lane < kWidth; ++lane) found = m[lane] > found ? m[lane] : found;
  return found;
}
FORGE_INLINE void store_magnitudes(std::uint32_t* to, Magnitudes m) noexcept {
  __builtin_memcpy(to, &m, sizeof m);
}

// The nearest integers of four vectors, ties to even.
FORGE_INLINE void store_bytes(std::int8_t* to, Vec v0, Vec v1, Vec v2, Vec v3) noexcept {
  const Vec nearest[] = {round(v0), round(v1), round(v2), round(v3)};
  for (std::size_t i = 0; i < 4 * kWidth; ++i) {
    to[i] = static_cast<std::int8_t>(nearest[i / kWidth][i % kWidth]);
  }
}

}  // namespace
}  // namespace forge

#include "kernels/quantize/rows.inc"
#include "kernels/quantize/weights.inc"

namespace forge {

void quantize_rows_none(const QuantizeRows& args, Share share) noexcept {
  quantize_rows(args, share);
}

void quantize_weights_none(const QuantizeWeights& args, Share share) noexcept {
  quantize_weights(args, share);
}

}  // namespace forge
