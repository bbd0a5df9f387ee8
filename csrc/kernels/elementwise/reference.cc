#include <cmath>
#include <cstddef>
#include <cstdint>

#include "kernels/elementwise/args.h"

#define FORGE_INLINE [[gnu::always_inline]] inline

namespace forge {
namespace {

// One lane: compilers make vectors of the simple steps themselves.
using Vec = float;
using Ints = std::int32_t;
using Words = std::uint32_t;

constexpr std::size_t kWidth = 1;

FORGE_INLINE Vec fill(float value) noexcept { return value; }
FORGE_INLINE Vec load(const float* from) noexcept { return *from; }
FORGE_INLINE void store(float* to, Vec v) noexcept { *to = v; }

// float16 has 5 bits of exponent and 10 of mantissa: 2^112 moves one exponent's range to the other.
FORGE_INLINE Vec widen_f16(const std::uint16_t* from) noexcept {
  const Words half = *from, magnitude = half & 0x7fffu, sign = (half & 0x8000u) << 16;
  const Words special = magnitude >= 0x7c00u ? 0x7f800000u | magnitude << 13 : 0u;
  const float finite = __builtin_bit_cast(float, magnitude << 13) * 0x1p112f;
  const Words bits = special != 0u ? special : __builtin_bit_cast(Words, finite);
  return __builtin_bit_cast(float, bits | sign);
}

// To the nearest, ties to even. Adding 2^k to a magnitude rounds it to multiples of 2^(k - 23).
FORGE_INLINE Words half_of(float v) noexcept {
  const Words bits = __builtin_bit_cast(Words, v), sign = bits >> 16 & 0x8000u;
  const Words magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return sign | 0x7e00u;
  if (magnitude >= 0x477ff000u) return sign | 0x7c00u;  // from 65520 on
  if (magnitude < 0x38800000u) {                        // below 2^-14: denormal
    const float moved = __builtin_bit_cast(float, magnitude) + 0.5f;
    return sign | (__builtin_bit_cast(Words, moved) - 0x3f000000u);
  }
  const Words rounded = magnitude + 0x0fffu + (magnitude >> 13 & 1u);
  return sign | ((rounded - 0x38000000u) >> 13);
}

FORGE_INLINE void narrow_f16(std::uint16_t* to, Vec v) noexcept {
  *to = static_cast<std::uint16_t>(half_of(v));
}

FORGE_INLINE Vec round_f16(Vec v) noexcept {
  const auto half = static_cast<std::uint16_t>(half_of(v));
  return widen_f16(&half);
}

FORGE_INLINE Vec add(Vec a, Vec b) noexcept { return a + b; }
FORGE_INLINE Vec absolute(Vec v) noexcept { return std::fabs(v); }
FORGE_INLINE Vec square_root(Vec v) noexcept { return std::sqrt(v); }
FORGE_INLINE Vec round(Vec v) noexcept { return std::nearbyint(v); }
FORGE_INLINE Vec floor_of(Vec v) noexcept { return std::floor(v); }
FORGE_INLINE Vec ceiling(Vec v) noexcept { return std::ceil(v); }
FORGE_INLINE Vec truncate(Vec v) noexcept { return std::trunc(v); }

FORGE_INLINE Vec exponential(Vec x) noexcept { return std::exp(x); }
FORGE_INLINE Vec exponential_less_one(Vec x) noexcept { return std::expm1(x); }
FORGE_INLINE Vec logarithm(Vec x) noexcept { return std::log(x); }
FORGE_INLINE Vec logarithm_plus_one(Vec x) noexcept { return std::log1p(x); }
FORGE_INLINE Vec tangent(Vec x) noexcept { return std::tanh(x); }
FORGE_INLINE Vec error_function(Vec x) noexcept { return std::erf(x); }
FORGE_INLINE Vec sine(Vec x) noexcept { return std::sin(x); }
FORGE_INLINE Vec cosine(Vec x) noexcept { return std::cos(x); }
FORGE_INLINE Vec power(Vec x, Vec y) noexcept { return std::pow(x, y); }
FORGE_INLINE Vec sigmoid(Vec x) noexcept {
  return static_cast<float>(1.0 / (1.0 + std::exp(-double{x})));
}
FORGE_INLINE Vec silu(Vec x) noexcept {
  return static_cast<float>(double{x} / (1.0 + std::exp(-double{x})));
}
FORGE_INLINE Vec gelu(Vec x) noexcept {
  return static_cast<float>(double{x} * 0.5 * std::erfc(double{x} * -0x1.6a09e667f3bcdp-1));
}
// x (1 + tanh(z)) / 2 is x / (1 + exp(-2 z)).
FORGE_INLINE Vec gelu_tanh(Vec x) noexcept {
  const double z = 0x1.9884533d43651p-1 * double{x} * (1.0 + 0.044715 * double{x} * double{x});
  return static_cast<float>(double{x} / (1.0 + std::exp(-2.0 * z)));
}

}  // namespace
}  // namespace forge

#include "kernels/elementwise/lanes.inc"
#include "kernels/elementwise/machine.inc"

namespace forge {

void elementwise_reference(const Elementwise& args, Share share) noexcept { run(args, share); }

}  // namespace forge
