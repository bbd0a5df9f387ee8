// From 32-bit sums back to 8 bits.
#pragma once

#include "forge_aie/tile.h"

namespace forge_aie {

// clip(round(sums * multiplier / 2**shift), -128, 127), halves to the even number. Sums fit 32 bits
// (the compiler has proved it), so 32 x 16 bit products fit the 48-bit accumulator, and moving them
// out is the one rounding. The modes of the tile do the rest.
template <typename Result = int8, unsigned Lanes>
inline aie::vector<Result, Lanes> requantise(const aie::vector<int32, Lanes>& sums,
                                             int16 multiplier, int shift) {
  return aie::mul(sums, multiplier).template to_vector<Result>(shift);
}

// The same, with a factor of up to 31 bits for each lane.
template <unsigned Lanes>
inline aie::vector<int8, Lanes> requantise(const aie::vector<int32, Lanes>& sums,
                                           const aie::vector<int32, Lanes>& factors, int shift) {
  return aie::mul(sums, factors).template to_vector<int8>(shift);
}

template <bool Relu, typename T>
inline aie::vector<T, half_bytes> activate(const aie::vector<T, half_bytes>& y) {
  if constexpr (Relu) {
    return aie::max(y, T(0));
  } else {
    return y;
  }
}

// i16 to i8, clipped.
template <unsigned Lanes>
inline aie::vector<int8, Lanes> narrow(const aie::vector<int16, Lanes>& wide) {
  aie::accum<acc32, Lanes> sums;
  sums.from_vector(wide, 0);
  return sums.template to_vector<int8>(0);
}

}  // namespace forge_aie
