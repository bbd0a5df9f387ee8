// The integer exponential of softmax: 16256 * exp(-d * scale) for distances d of 0 to 255 from the
// maximum of a row, without a table. docs/aie.md has the definition, which this has to match bit
// for bit.
#pragma once

#include "forge_aie/tile.h"

namespace forge_aie {

inline constexpr unsigned exp_lanes = 32;
using Wide = aie::vector<int16, exp_lanes>;

// -2**(15 - z) for z of 0 to 15. No lane of AIE1 can be shifted by an amount of its own: two bits
// of z choose among four powers, the other two among four factors.
inline Wide negative_power(Wide z) {
  const auto constant = [](int16 value) { return aie::broadcast<int16, exp_lanes>(value); };
  const auto eight = aie::ge(z, int16(8));
  z = aie::sub(z, aie::select(constant(0), constant(8), eight));
  const auto four = aie::ge(z, int16(4));
  z = aie::sub(z, aie::select(constant(0), constant(4), four));
  const auto two = aie::ge(z, int16(2));
  z = aie::sub(z, aie::select(constant(0), constant(2), two));
  const auto one = aie::ge(z, int16(1));
  const Wide coarse = aie::select(aie::select(constant(-4096), constant(-256), four),
                                  aie::select(constant(-16), constant(-1), four), eight);
  const Wide fine = aie::select(aie::select(constant(8), constant(4), one),
                                aie::select(constant(2), constant(1), one), two);
  return aie::mul(coarse, fine).template to_vector<int16>(0);
}

// round(p / 2**(z + extra)) with (p, z) the polynomial of exp(-distance * multiplier / 2**shift /
// 3970 octaves). Result is i8 (extra = 7) or i16.
template <typename Result, unsigned Extra>
inline aie::vector<Result, exp_lanes> exponential(const Wide& distance, int16 multiplier,
                                                  int shift) {
  const auto constant = [](int16 value) { return aie::broadcast<int16, exp_lanes>(value); };
  aie::accum<acc32, exp_lanes> sums;

  // t - 32768, which fits 16 bits; saturation is the limit of 65535 on t.
  sums.from_vector(constant(-32768), shift);
  sums = aie::mac(sums, distance, multiplier);
  const Wide t = sums.template to_vector<int16>(shift);

  // z = round(t / 3970), at most 15.
  sums.from_vector(constant(8452), 15);
  sums = aie::mac(sums, t, int16(8452));
  const Wide z = aie::min(sums.template to_vector<int16>(25), int16(15));

  // c = t - 3970 z - 5894.
  sums.from_vector(constant(32768 - 5894), 0);
  sums = aie::mac(sums, t, int16(1));
  sums = aie::mac(sums, z, int16(-3970));
  const Wide c = sums.template to_vector<int16>(0);

  // p = (c * c + 31845340) / 2**12.
  sums.from_vector(aie::broadcast<int32, exp_lanes>(31845340), 0);
  sums = aie::mac(sums, c, c);
  const Wide p = sums.template to_vector<int16>(12);

  return aie::negmul(p, negative_power(z)).template to_vector<Result>(15 + Extra);
}

// numerator / divisor, rounded down, in each lane; the quotient has at most `Bits` bits, that is
// numerator >> Bits is below every divisor, and divisors are below 2**30. AIE1 does not divide: the
// quotient is found bit by bit, for all lanes at once.
template <unsigned Bits, unsigned Lanes>
inline aie::vector<int32, Lanes> floor_divide(int32 numerator,
                                              const aie::vector<int32, Lanes>& divisor) {
  const auto zero = aie::broadcast<int32, Lanes>(0);
  aie::vector<int32, Lanes> rest = aie::broadcast<int32, Lanes>(numerator >> Bits);
  aie::vector<int32, Lanes> quotient = zero;
  for (int bit = Bits - 1; bit >= 0; --bit) chess_prepare_for_pipelining {
      rest = aie::add(aie::add(rest, rest), int32(numerator >> bit & 1));
      const auto fits = aie::ge(rest, divisor);
      rest = aie::sub(rest, aie::select(zero, divisor, fits));
      quotient =
          aie::add(quotient, aie::select(zero, aie::broadcast<int32, Lanes>(1 << bit), fits));
    }
  return quotient;
}

}  // namespace forge_aie
