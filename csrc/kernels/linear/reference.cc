#include <bit>
#include <cstdint>
#include <utility>

#include "kernels/linear/args.h"

#define FORGE_INLINE [[gnu::always_inline]] inline

namespace forge {
namespace {

// Vectors of GCC and Clang, which both turn into what the processor has: 16 bytes suit every one.
using Vec = float __attribute__((vector_size(16)));
using Mask = std::int32_t __attribute__((vector_size(16)));
using Bits = std::uint32_t __attribute__((vector_size(16)));
using Wide = double __attribute__((vector_size(32)));

constexpr std::size_t kWidth = 4;
// 8 sums, four vectors of columns and a factor: 13 of the 16 registers of x86-64.
constexpr std::size_t kRows = 2, kVectors = 4, kStreamRows = 1;

FORGE_INLINE Vec fill(float value) noexcept { return Vec{value, value, value, value}; }

FORGE_INLINE Vec load(const float* from) noexcept {
  Vec v;
  __builtin_memcpy(&v, from, sizeof v);
  return v;
}

FORGE_INLINE void store(float* to, Vec v) noexcept { __builtin_memcpy(to, &v, sizeof v); }

FORGE_INLINE Vec load_first(const float* from, std::size_t count) noexcept {
  Vec v = fill(0.0f);
  if (count == kWidth) return load(from);
  __builtin_memcpy(&v, from, count * sizeof(float));
  return v;
}

FORGE_INLINE void store_first(float* to, Vec v, std::size_t count) noexcept {
  if (count == kWidth) return store(to, v);
  __builtin_memcpy(to, &v, count * sizeof(float));
}

FORGE_INLINE Vec add(Vec a, Vec b) noexcept { return a + b; }
FORGE_INLINE Vec sub(Vec a, Vec b) noexcept { return a - b; }
FORGE_INLINE Vec mul(Vec a, Vec b) noexcept { return a * b; }
FORGE_INLINE Vec div(Vec a, Vec b) noexcept { return a / b; }
FORGE_INLINE Vec negative(Vec v) noexcept { return fill(0.0f) - v; }
FORGE_INLINE Vec absolute(Vec v) noexcept {
  return std::bit_cast<Vec>(std::bit_cast<Bits>(v) & 0x7fffffffu);
}
FORGE_INLINE Vec multiply_add(Vec a, Vec b, Vec c) noexcept { return a * b + c; }

// a b + c and c - a b with a product that does not round: float64 holds it.
FORGE_INLINE Vec fma(Vec a, Vec b, Vec c) noexcept {
  const Wide sum = __builtin_convertvector(a, Wide) * __builtin_convertvector(b, Wide) +
                   __builtin_convertvector(c, Wide);
  return __builtin_convertvector(sum, Vec);
}

FORGE_INLINE Vec negated_fma(Vec a, Vec b, Vec c) noexcept { return fma(-a, b, c); }

FORGE_INLINE Mask less(Vec a, Vec b) noexcept { return a < b; }
FORGE_INLINE Mask equal(Vec a, Vec b) noexcept { return a == b; }
FORGE_INLINE Vec select(Mask mask, Vec yes, Vec no) noexcept {
  return std::bit_cast<Vec>((mask & std::bit_cast<Mask>(yes)) | (~mask & std::bit_cast<Mask>(no)));
}

// NaN in `v` stays NaN.
FORGE_INLINE Vec min(Vec limit, Vec v) noexcept { return select(less(limit, v), limit, v); }
FORGE_INLINE Vec max(Vec limit, Vec v) noexcept { return select(less(v, limit), limit, v); }

// Adding 1.5 * 2^23 leaves an integer in the low bits of a float of at most 2^22.
constexpr float kMagic = 0x1.8p23f;

FORGE_INLINE Vec round(Vec v) noexcept { return (v + kMagic) - kMagic; }

// 2^power for integers from -126 to 127; anything for NaN.
FORGE_INLINE Vec power_of_two(Vec power) noexcept {
  const Bits offset = std::bit_cast<Bits>(power + kMagic) - std::bit_cast<Bits>(fill(kMagic));
  return std::bit_cast<Vec>((offset + 127u) << 23);
}

// v 2^power for integers from -250 to 0, in two steps of which only the second may round.
FORGE_INLINE Vec scale(Vec v, Vec power) noexcept {
  const Vec half = round(0.5f * power);
  return v * power_of_two(half) * power_of_two(power - half);
}

}  // namespace
}  // namespace forge

#include "kernels/linear/product.inc"

namespace forge {

void multiply_f32_none(const LinearF32& args, Share share) noexcept { run(args, share); }

void pack_f32_none(const LinearPackF32& args, Share share) noexcept { pack(args, share); }

const LinearF32Kernels linear_f32_reference = {packed_bytes, pack, run};

}  // namespace forge
