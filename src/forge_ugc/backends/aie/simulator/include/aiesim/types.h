// Scalar types of AI Engine code.
#pragma once

#include <bit>
#include <cstdint>

using int8 = std::int8_t;
using int16 = std::int16_t;
using int32 = std::int32_t;
using int64 = std::int64_t;
using uint8 = std::uint8_t;
using uint16 = std::uint16_t;
using uint32 = std::uint32_t;
using uint64 = std::uint64_t;

struct cint16 {
  int16 real, imag;
  friend constexpr bool operator==(const cint16&, const cint16&) = default;
};
struct cint32 {
  int32 real, imag;
  friend constexpr bool operator==(const cint32&, const cint32&) = default;
};
struct cfloat {
  float real, imag;
  friend constexpr bool operator==(const cfloat&, const cfloat&) = default;
};

// The upper half of a float.
struct bfloat16 {
  uint16 bits = 0;
  constexpr bfloat16() = default;
  constexpr bfloat16(float value) : bits(rounded(value)) {}
  constexpr operator float() const { return std::bit_cast<float>(uint32(bits) << 16); }

 private:
  static constexpr uint16 rounded(float value) {
    const auto whole = std::bit_cast<uint32>(value);
    if ((whole & 0x7fffffffu) > 0x7f800000u) return uint16((whole >> 16) | 0x40);  // NaN
    return uint16((whole + 0x7fffu + ((whole >> 16) & 1)) >> 16);                  // ties to even
  }
};
