// The matrix shapes that aie::mmul has, by architecture and element types.
//
// Source: the tables of "Matrix Multiplication" in AMD's AI Engine API guide (UG1529).
#pragma once

#include "aie_api/types.hpp"

namespace aie::detail {

// Whether "MxKxN" is one of the shapes in `list`, which are separated by spaces.
constexpr bool has_shape(const char* list, unsigned m, unsigned k, unsigned n) {
  const unsigned wanted[3] = {m, k, n};
  while (*list != '\0') {
    unsigned found[3] = {0, 0, 0};
    for (unsigned i = 0; *list != '\0' && *list != ' '; ++list) {
      if (*list == 'x') {
        ++i;
      } else {
        found[i] = found[i] * 10 + static_cast<unsigned>(*list - '0');
      }
    }
    if (found[0] == wanted[0] && found[1] == wanted[1] && found[2] == wanted[2]) return true;
    while (*list == ' ') ++list;
  }
  return false;
}

template <class T>
struct signed_of {
  using type = T;
};
template <>
struct signed_of<uint8> {
  using type = int8;
};
template <>
struct signed_of<uint16> {
  using type = int16;
};
template <>
struct signed_of<uint32> {
  using type = int32;
};

// check<M, K, N>() compiles only for shapes of the architecture.
template <bool Ml, class A, class B>
struct MmulShapes {
  template <unsigned M, unsigned K, unsigned N>
  static constexpr bool check() {
    static_assert(M == 0, "aie::mmul: this architecture multiplies no matrices of these types");
    return false;
  }
};

#define AIESIM_SHAPES(ml, device, A, B, shapes)                           \
  template <>                                                             \
  struct MmulShapes<ml, A, B> {                                           \
    template <unsigned M, unsigned K, unsigned N>                         \
    static constexpr bool check() {                                       \
      static_assert(has_shape(shapes, M, K, N),                           \
                    "aie::mmul: " device                                  \
                    " has no such shape M x K x N (see M, K, N of this "  \
                    "instantiation); of " #A " x " #B " it has " shapes); \
      return true;                                                        \
    }                                                                     \
  };
#define AIE1(A, B, shapes) AIESIM_SHAPES(false, "AIE", A, B, shapes)
#define AIEML(A, B, shapes) AIESIM_SHAPES(true, "AIE-ML", A, B, shapes)

AIE1(int8, int8, "4x8x4 4x16x4 8x8x4 2x8x8 4x8x8 1x16x8 2x16x8 4x16x8")
AIE1(int16, int8, "4x4x4 8x4x4 4x8x4 4x4x8")
AIE1(int8, int16, "4x4x8 4x4x4 8x8x1")
AIE1(int16, int16, "4x4x4 2x4x8 4x4x8 4x2x8 8x8x1")
AIE1(int32, int16, "2x4x8 4x4x4 4x2x4 2x2x4 2x4x4 4x4x2 2x2x8")
AIE1(int16, int32, "4x2x2 2x4x8 4x4x4")
AIE1(int32, int32, "4x2x4 2x2x2 2x4x2 2x8x2 4x2x2 4x4x2 2x4x4 4x4x1")
AIE1(float, float, "4x2x4 2x2x2 2x4x2 2x8x2 4x2x2 4x4x2 2x4x4 4x4x1")
AIE1(int16, cint16, "4x2x2 4x4x4 4x4x1")
AIE1(int16, cint32, "2x4x2 2x4x4 2x8x2 4x4x2 4x4x1")
AIE1(cint16, int16, "2x2x4 2x2x8 2x4x4 2x4x8 4x2x4 4x4x2 4x4x4")
AIE1(cint16, cint16, "2x2x2 2x4x2 2x8x2 2x4x4 4x2x2 4x4x2 4x2x4 4x4x1")
AIE1(cint16, int32, "2x2x2 2x4x2 2x8x2 2x4x4 4x2x2 4x4x2 4x2x4 4x4x1")
AIE1(cint16, cint32, "2x2x2 2x4x2 4x2x1")
AIE1(int32, cint16, "2x2x2 2x4x2 2x8x2 2x4x4 4x2x2 4x4x2 4x2x4 4x4x1")
AIE1(int32, cint32, "2x2x2 2x4x2 4x2x1")
AIE1(cint32, int16, "2x4x2 2x8x2 2x4x4 4x4x2")
AIE1(cint32, cint16, "2x2x2 2x4x2 4x4x1")
AIE1(cint32, int32, "1x2x2 2x2x2 2x4x2 4x4x1")
AIE1(cint32, cint32, "1x2x2 2x2x1")
AIE1(float, cfloat, "2x2x2 2x4x2 4x2x1")
AIE1(cfloat, float, "2x2x2 2x4x2 4x4x1 2x4x1")
AIE1(cfloat, cfloat, "2x2x2 2x2x4 2x4x2 4x2x2 4x2x1")

AIEML(int8, int8, "4x8x4 4x16x4 8x8x4 2x8x8 4x8x8 8x8x8 1x16x8 2x16x8 4x16x8")
AIEML(int16, int8, "4x4x4 8x4x4 4x8x4 4x4x8 8x4x8 2x8x8")
AIEML(int8, int16, "4x4x8 4x4x4")
AIEML(int16, int16, "4x4x4 2x4x8 4x4x8 4x2x8 8x2x8 8x1x8")
AIEML(int32, int16, "2x4x8 4x4x8 4x4x4 4x2x4 4x1x8")
AIEML(int16, int32, "2x4x8 4x4x4")
AIEML(int32, int32, "4x2x4 4x4x4 8x2x4 4x1x8 8x1x8")
AIEML(bfloat16, bfloat16, "4x8x4 8x8x4 4x16x8 8x8x8")
AIEML(float, float, "4x8x4 4x1x4 4x1x8")
AIEML(cint16, int16, "2x4x8 4x4x4")
AIEML(cint16, cint16, "1x4x8 2x4x8")
AIEML(cint32, cint16, "1x2x4 1x2x8 2x2x8 1x4x8 2x4x8")
AIEML(cint32, cint32, "1x2x8")

#undef AIEML
#undef AIE1
#undef AIESIM_SHAPES

// Multiply-accumulates of elements that one instruction does (UG1079 and UG1603, tables of data
// paths). AIE multiplies bytes by 16-bit numbers at the rate of 16-bit numbers.
template <class A, class B>
constexpr double macs_per_issue() {
  constexpr unsigned a = sizeof(part<A>), b = sizeof(part<B>);
  constexpr double complexity = (is_complex<A> ? 2.0 : 1.0) * (is_complex<B> ? 2.0 : 1.0);
  double real = 0;
  if (is_float<A>) {
    real = a == 2 ? 128 : is_aie1 ? 8 : 14;  // AIE-ML: nine products of bfloat16 for one
  } else if (is_aie1) {
    real = a == 1 && b == 1 ? 128 : a == 2 && b == 1 ? 64 : 256.0 / (a * b) / (a * b > 2 ? 2 : 4);
  } else {
    real = 256.0 / (a * b);
  }
  return real / complexity;
}

}  // namespace aie::detail
