// Arithmetic of single lanes: exact products and sums, wrapping, and shift-round-saturate.
#pragma once

#include <limits>
#include <string>

#include "aie_api/types.hpp"
#include "aiesim/tile.h"

namespace aie::detail {

template <class L>
struct unsigned_of {
  using type = std::make_unsigned_t<L>;
};
template <>
struct unsigned_of<int128> {
  using type = unsigned __int128;
};
template <class L>
using unsigned_lane = typename unsigned_of<L>::type;

// Sums and products modulo 2^width, without undefined overflow.
template <class L>
constexpr L lane_add(L a, L b) {
  if constexpr (is_complex<L>) {
    return {lane_add(a.real, b.real), lane_add(a.imag, b.imag)};
  } else if constexpr (is_float<L>) {
    return a + b;
  } else {
    return static_cast<L>(static_cast<unsigned_lane<L>>(a) + static_cast<unsigned_lane<L>>(b));
  }
}
template <class L>
constexpr L lane_sub(L a, L b) {
  if constexpr (is_complex<L>) {
    return {lane_sub(a.real, b.real), lane_sub(a.imag, b.imag)};
  } else if constexpr (is_float<L>) {
    return a - b;
  } else {
    return static_cast<L>(static_cast<unsigned_lane<L>>(a) - static_cast<unsigned_lane<L>>(b));
  }
}
template <class L>
constexpr L lane_multiply(L a, L b) {
  if constexpr (is_float<L>) {
    return a * b;
  } else {
    return static_cast<L>(static_cast<unsigned_lane<L>>(a) * static_cast<unsigned_lane<L>>(b));
  }
}
template <class L>
constexpr L lane_negate(L a) {
  if constexpr (is_complex<L>) {
    return {lane_negate(a.real), lane_negate(a.imag)};
  } else if constexpr (is_float<L>) {
    return -a;
  } else {
    return lane_sub(L{0}, a);
  }
}
template <class L>
constexpr Complex<L> lane_conjugate(Complex<L> a) {
  return {a.real, lane_negate(a.imag)};
}

// An element as a value of lanes of part type P, real or complex.
template <class P, class T>
constexpr auto widen(const T& value) {
  if constexpr (is_complex<T>) {
    return Complex<P>{static_cast<P>(value.real), static_cast<P>(value.imag)};
  } else {
    return static_cast<P>(value);
  }
}
// A real lane as a complex one, where the accumulator is.
template <class L, class V>
constexpr L as_lane(V value) {
  if constexpr (is_complex<L> && !is_complex<V>) {
    return L{value, 0};
  } else {
    static_assert(std::is_same_v<L, V>, "a complex product needs a complex accumulator");
    return value;
  }
}

// Product of two widened values.
template <class A, class B>
constexpr auto times(const A& a, const B& b) {
  if constexpr (is_complex<A> && is_complex<B>) {
    return A{lane_sub(lane_multiply(a.real, b.real), lane_multiply(a.imag, b.imag)),
             lane_add(lane_multiply(a.real, b.imag), lane_multiply(a.imag, b.real))};
  } else if constexpr (is_complex<A>) {
    return A{lane_multiply(a.real, b), lane_multiply(a.imag, b)};
  } else if constexpr (is_complex<B>) {
    return B{lane_multiply(a, b.real), lane_multiply(a, b.imag)};
  } else {
    return lane_multiply(a, b);
  }
}

// The lane as an accumulator of `Bits` bits holds it.
template <unsigned Bits, class L>
constexpr L wrap(L value) {
  constexpr unsigned spare = sizeof(L) * 8 - Bits;
  if constexpr (spare == 0) {
    return value;
  } else {
    return static_cast<L>(static_cast<unsigned_lane<L>>(value) << spare) >> spare;
  }
}

// How the modes of a tile act on a shift to the right, the same for all lanes: the result is
// (value + base + by_sign * (value < 0) + by_lowest * (lowest bit that stays)) >> shift.
struct Narrowing {
  aiesim::Saturation saturation;
  int shift;
  std::int64_t base = 0;
  int by_sign = 0, by_lowest = 0;
};

[[noreturn]] inline void bad_shift(int shift) {
  aiesim::fail("a shift of " + std::to_string(shift) + " bits: shift-round-saturate has 0 to 63");
}

inline Narrowing narrowing(int shift) {
  using aiesim::Rounding;
  aiesim::Tile& tile = aiesim::tile();
  if (!tile.rounding_set && !tile.saturation_set) tile.account.narrowed_in_default_modes += 1;
  if (shift < 0 || shift > 63) bad_shift(shift);
  Narrowing how{tile.saturation, shift};
  if (shift == 0) return how;
  const auto half = static_cast<std::int64_t>(std::uint64_t{1} << (shift - 1));
  switch (tile.rounding) {
    case Rounding::floor:
      break;
    case Rounding::ceil:
      how.base = static_cast<std::int64_t>((std::uint64_t{1} << shift) - 1);
      break;
    case Rounding::positive_inf:
      how.base = half;
      break;
    case Rounding::negative_inf:
      how.base = half - 1;
      break;
    case Rounding::symmetric_inf:
      how.base = half, how.by_sign = -1;
      break;
    case Rounding::symmetric_zero:
      how.base = half - 1, how.by_sign = 1;
      break;
    case Rounding::conv_even:
      how.base = half - 1, how.by_lowest = 1;
      break;
    case Rounding::conv_odd:
      how.base = half, how.by_lowest = -1;
      break;
  }
  return how;
}

// Saturates an integer to T. `Unsaturated` values lose their high bits.
template <class T, class L>
constexpr T saturate(L value, aiesim::Saturation mode) {
  if (mode == aiesim::Saturation::none) return static_cast<T>(value);
  constexpr L high = static_cast<L>(std::numeric_limits<T>::max());
  const L low = std::is_unsigned_v<T> ? L{0}
                : mode == aiesim::Saturation::symmetric
                    ? -high
                    : static_cast<L>(std::numeric_limits<T>::min());
  return static_cast<T>(value < low ? low : value > high ? high : value);
}

// Shift-round-saturate of a lane that is already wrapped to its width; L has room for the sum.
template <class T, class L>
constexpr T narrow(L value, const Narrowing& how) {
  const auto lowest = static_cast<L>((value >> how.shift) & 1);
  const L addend =
      static_cast<L>(how.base) + how.by_sign * static_cast<L>(value < 0) + how.by_lowest * lowest;
  return saturate<T>(static_cast<L>((value + addend) >> how.shift), how.saturation);
}

// Shift-round-saturate of `count` parts of lanes.
template <unsigned Bits, class T, class L>
void narrow_lanes(T* to, const L* from, unsigned count, const Narrowing& how) {
  if (sizeof(L) == 8 && (Bits == 64 || how.shift > 48)) {
    for (unsigned i = 0; i < count; ++i) to[i] = narrow<T>(int128{wrap<Bits>(from[i])}, how);
  } else {
    for (unsigned i = 0; i < count; ++i) to[i] = narrow<T>(wrap<Bits>(from[i]), how);
  }
}

// Vector instructions on `bytes` bytes of operands; moves and loads are of 256 bits.
inline void charge_vector(std::size_t bytes, double each = 1) {
  aiesim::charge(aiesim::Slot::vector,
                 static_cast<double>((bytes + 63) / 64) * each * aiesim::costs().vector_issue);
}
inline void charge_move(std::size_t bytes) {
  aiesim::charge(aiesim::Slot::move, static_cast<double>((bytes + 31) / 32) * aiesim::costs().move);
}
inline void charge_load(std::size_t bytes) {
  aiesim::charge(aiesim::Slot::load, static_cast<double>((bytes + 31) / 32) * aiesim::costs().load);
}
inline void charge_store(std::size_t bytes) {
  aiesim::charge(aiesim::Slot::store,
                 static_cast<double>((bytes + 31) / 32) * aiesim::costs().store);
}
inline void charge_scalar(double cycles) { aiesim::charge(aiesim::Slot::scalar, cycles); }

}  // namespace aie::detail
