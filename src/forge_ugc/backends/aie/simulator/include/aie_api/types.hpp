// Element types, accumulator tags, and what each architecture makes of them.
#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>

#include "aiesim/types.h"

#ifndef __AIE_ARCH__
#define __AIE_ARCH__ 10  // AIE; 20 is AIE-ML
#endif

// Tags: an accumulator has at least as many bits as its tag says.
#define AIESIM_TAG(name, width, complex, floating)      \
  struct name {                                         \
    static constexpr unsigned bits = width;             \
    static constexpr bool is_complex = complex;         \
    static constexpr bool is_floating_point = floating; \
  };
AIESIM_TAG(acc16, 16, false, false)
AIESIM_TAG(acc24, 24, false, false)
AIESIM_TAG(acc32, 32, false, false)
AIESIM_TAG(acc40, 40, false, false)
AIESIM_TAG(acc48, 48, false, false)
AIESIM_TAG(acc56, 56, false, false)
AIESIM_TAG(acc64, 64, false, false)
AIESIM_TAG(acc72, 72, false, false)
AIESIM_TAG(acc80, 80, false, false)
AIESIM_TAG(cacc16, 16, true, false)
AIESIM_TAG(cacc24, 24, true, false)
AIESIM_TAG(cacc32, 32, true, false)
AIESIM_TAG(cacc40, 40, true, false)
AIESIM_TAG(cacc48, 48, true, false)
AIESIM_TAG(cacc56, 56, true, false)
AIESIM_TAG(cacc64, 64, true, false)
AIESIM_TAG(cacc72, 72, true, false)
AIESIM_TAG(cacc80, 80, true, false)
AIESIM_TAG(accfloat, 32, false, true)
AIESIM_TAG(caccfloat, 32, true, true)
#undef AIESIM_TAG
struct accauto {};  // the default of the multiplied types

namespace aie {

namespace arch {
inline constexpr unsigned AIE = 10;
inline constexpr unsigned AIE_ML = 20;
inline constexpr unsigned version = __AIE_ARCH__;
template <class... V>
constexpr bool is(V... versions) {
  return ((version == versions) || ...);
}
}  // namespace arch

namespace detail {

inline constexpr bool is_aie1 = arch::version == arch::AIE;
inline constexpr bool is_aie_ml = !is_aie1;
static_assert(arch::version == 10 || (arch::version >= 20 && arch::version < 40),
              "__AIE_ARCH__ is 10 for AIE or 20 for AIE-ML");

using int128 = __int128;

// Real and imaginary part of an accumulator lane.
template <class L>
struct Complex {
  L real, imag;
  friend constexpr bool operator==(const Complex&, const Complex&) = default;
};

template <class T>
inline constexpr bool is_complex = false;
template <>
inline constexpr bool is_complex<cint16> = true;
template <>
inline constexpr bool is_complex<cint32> = true;
template <>
inline constexpr bool is_complex<cfloat> = true;
template <class L>
inline constexpr bool is_complex<Complex<L>> = true;

// The type of one part of an element.
template <class T>
struct part_of {
  using type = T;
};
template <>
struct part_of<cint16> {
  using type = int16;
};
template <>
struct part_of<cint32> {
  using type = int32;
};
template <>
struct part_of<cfloat> {
  using type = float;
};
template <class L>
struct part_of<Complex<L>> {
  using type = L;
};
template <class T>
using part = typename part_of<T>::type;

template <class T>
inline constexpr bool is_float = std::is_same_v<part<T>, float> || std::is_same_v<T, bfloat16>;
template <class T>
inline constexpr bool is_element =
    std::is_same_v<T, int8> || std::is_same_v<T, uint8> || std::is_same_v<T, int16> ||
    std::is_same_v<T, uint16> || std::is_same_v<T, int32> || std::is_same_v<T, uint32> ||
    std::is_same_v<T, float> || std::is_same_v<T, cint16> || std::is_same_v<T, cint32> ||
    std::is_same_v<T, cfloat> || std::is_same_v<T, bfloat16>;

// What a lane of an accumulator is held in. Sums modulo 2^64 are right modulo 2^48 too, so lanes of
// at most 64 bits wrap to the width of the hardware when they are read; 80 bits need more room.
template <class Tag>
struct lane_of {
  static constexpr unsigned native_bits = Tag::is_floating_point ? 32
                                          : is_aie1
                                              ? (Tag::bits <= 48 ? 48 : 80)
                                              : (Tag::bits <= 32 && !Tag::is_complex ? 32 : 64);
  using part = std::conditional_t<Tag::is_floating_point, float,
                                  std::conditional_t<(native_bits > 64), int128, std::int64_t>>;
  using type = std::conditional_t<Tag::is_complex, Complex<part>, part>;
};
template <class Tag>
using lane = typename lane_of<Tag>::type;

// The accumulator that a product of two element types goes to unless the caller names one.
template <class A, class B>
constexpr auto default_tag() {
  constexpr bool complex = is_complex<A> || is_complex<B>;
  if constexpr (is_float<A> || is_float<B>) {
    static_assert(is_float<A> && is_float<B>, "a float is multiplied by floats only");
    return std::conditional_t<complex, caccfloat, accfloat>{};
  } else if constexpr (is_aie1) {
    constexpr bool wide = sizeof(part<A>) == 4 && sizeof(part<B>) == 4;
    return std::conditional_t<complex, std::conditional_t<wide, cacc80, cacc48>,
                              std::conditional_t<wide, acc80, acc48>>{};
  } else {
    constexpr bool wide = sizeof(part<A>) == 4 || sizeof(part<B>) == 4;
    return std::conditional_t<complex, cacc64, std::conditional_t<wide, acc64, acc32>>{};
  }
}
template <class Tag, class A, class B>
using tag_or_default =
    std::conditional_t<std::is_same_v<Tag, accauto>, decltype(default_tag<A, B>()), Tag>;

// Limits of lanes and elements: registers of 128 to 1024 bits.
template <class Tag, unsigned N>
constexpr bool is_accum_size() {
  if ((N & (N - 1)) != 0) return false;
  if (Tag::is_floating_point) return N >= (Tag::is_complex ? 2u : 4u) && N <= 128;
  const unsigned least = Tag::is_complex ? 2 : 4;
  return N >= least && N <= 128;
}

}  // namespace detail

template <class T>
inline constexpr unsigned type_bits_v = sizeof(T) * 8;

template <class T, unsigned N>
class vector;
template <class Tag, unsigned N>
class accum;
template <unsigned N>
class mask;

// Memory has to be aligned for vectors: 16 bytes on AIE, up to 32 on AIE-ML.
inline constexpr unsigned vector_decl_align = 32;
template <class T, unsigned N>
inline constexpr unsigned vector_ldst_align_v = detail::is_aie1 || sizeof(T) * N < 32 ? 16u : 32u;

}  // namespace aie
