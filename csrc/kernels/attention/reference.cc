// Portable: vectors of four floats, which compilers turn into SSE, NEON or plain code.
#include <cstring>

#include "kernels/attention/args.h"

#define FORGE_INLINE [[gnu::always_inline]] inline

namespace forge {
namespace {

using Vec [[gnu::vector_size(16)]] = float;
using Bits [[gnu::vector_size(16)]] = std::int32_t;

constexpr std::size_t kWidth = 4;
// 8 sums, two vectors of keys or columns, a factor and a product: 12 of 16 registers.
constexpr std::size_t kRows = 4, kVectors = 2, kWide = 2, kWideRows = 4, kDotRows = 1;

FORGE_INLINE Vec fill(float value) noexcept { return Vec{value, value, value, value}; }

FORGE_INLINE Vec load(const float* from) noexcept {
  Vec v;
  std::memcpy(&v, from, sizeof(v));
  return v;
}

FORGE_INLINE void store(float* to, Vec v) noexcept { std::memcpy(to, &v, sizeof(v)); }

FORGE_INLINE Vec load(const Bf16* from) noexcept {
  const Bits halves = {static_cast<std::uint16_t>(from[0]), static_cast<std::uint16_t>(from[1]),
                       static_cast<std::uint16_t>(from[2]), static_cast<std::uint16_t>(from[3])};
  return reinterpret_cast<Vec>(halves << 16);
}

template <typename T>
FORGE_INLINE Vec load_first(const T* from, std::size_t count) noexcept {
  T entries[kWidth] = {};
  for (std::size_t i = 0; i < count; ++i) entries[i] = from[i];
  return load(entries);
}

FORGE_INLINE void store_first(float* to, Vec v, std::size_t count) noexcept {
  std::memcpy(to, &v, count * sizeof(float));
}

// To the nearest, ties to even.
FORGE_INLINE Bf16 to_bf16(float x) noexcept {
  const auto bits = __builtin_bit_cast(std::uint32_t, x);
  const std::uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  // Rounding could turn NaN into infinity.
  const std::uint32_t quiet = (bits >> 16) | 0x40u;
  return static_cast<Bf16>((bits & 0x7fffffffu) > 0x7f800000u ? quiet : rounded);
}

FORGE_INLINE void store_first(Bf16* to, Vec v, std::size_t count) noexcept {
  for (std::size_t i = 0; i < count; ++i) to[i] = to_bf16(v[i]);
}

FORGE_INLINE Vec add(Vec a, Vec b) noexcept { return a + b; }
FORGE_INLINE Vec sub(Vec a, Vec b) noexcept { return a - b; }
FORGE_INLINE Vec mul(Vec a, Vec b) noexcept { return a * b; }
// Both the product and the sum round.
FORGE_INLINE Vec fma(Vec a, Vec b, Vec c) noexcept { return a * b + c; }
FORGE_INLINE Vec negated_fma(Vec a, Vec b, Vec c) noexcept { return c - a * b; }
FORGE_INLINE Vec multiply_add(Vec a, Vec b, Vec c) noexcept { return a * b + c; }

FORGE_INLINE Vec select(Bits mask, Vec yes, Vec no) noexcept {
  return reinterpret_cast<Vec>((mask & reinterpret_cast<Bits>(yes)) |
                               (~mask & reinterpret_cast<Bits>(no)));
}

// The larger one, or `known` where `v` is NaN.
FORGE_INLINE Vec max_unless_nan(Vec v, Vec known) noexcept { return select(v > known, v, known); }

FORGE_INLINE float reduce_max(Vec v) noexcept {
  float top = v[0];
  for (std::size_t i = 1; i < kWidth; ++i) top = v[i] > top ? v[i] : top;
  return top;
}

FORGE_INLINE float reduce_add(Vec v) noexcept { return (v[0] + v[2]) + (v[1] + v[3]); }

// -inf in all lanes but [begin, end).
FORGE_INLINE Vec hide_outside(Vec v, std::size_t begin, std::size_t end) noexcept {
  const auto first = static_cast<std::int32_t>(begin), last = static_cast<std::int32_t>(end);
  const Bits lane = {0, 1, 2, 3};
  return select((lane >= first) & (lane < last), v, fill(-__builtin_inff()));
}

// 0, or -inf where a byte is zero.
FORGE_INLINE Vec hidden_where_zero(const std::uint8_t* from) noexcept {
  const Bits bytes = {from[0], from[1], from[2], from[3]};
  return select(bytes == 0, fill(-__builtin_inff()), fill(0.0f));
}

// Zero where `v` is below the limit; NaN is not.
FORGE_INLINE Vec zero_if_below(Vec v, Vec limit) noexcept {
  return select(v < limit, fill(0.0f), v);
}

// v 2^power, or zero where x is below the limit; NaN is not. The lowest bits of `shifted` are the
// biased power, from 1 to 254.
FORGE_INLINE Vec scale_unless_below(Vec v, Vec, Vec shifted, Vec x, Vec limit) noexcept {
  const Vec scaled = v * reinterpret_cast<Vec>(reinterpret_cast<Bits>(shifted) << 23);
  return select(x < limit, fill(0.0f), scaled);
}

// The sums of the lanes of each, times a factor.
FORGE_INLINE void store_four_sums(Vec a, Vec b, Vec c, Vec d, float factor, float* to) noexcept {
  store(to, Vec{reduce_add(a), reduce_add(b), reduce_add(c), reduce_add(d)} * fill(factor));
}

FORGE_INLINE void transpose(Vec (&rows)[kWidth]) noexcept {
  const Vec a = rows[0], b = rows[1], c = rows[2], d = rows[3];
  for (int i = 0; i < 4; ++i) rows[i] = Vec{a[i], b[i], c[i], d[i]};
}

}  // namespace
}  // namespace forge

#include "kernels/attention/walk.inc"

namespace forge {

void attention_f32_reference(const AttentionF32& args, Share share) noexcept { run(args, share); }

void attention_bf16_reference(const AttentionBf16& args, Share share) noexcept { run(args, share); }

}  // namespace forge
