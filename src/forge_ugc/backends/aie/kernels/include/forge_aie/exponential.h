// The integer exponential of softmax: 16256 * exp(-d * scale) for distances d of 0 to 255 from the
// maximum of a row, without a table. docs/aie.md has the definition, which this has to match bit
// for bit.
#pragma once

#include "forge_aie/tile.h"

namespace forge_aie {

inline constexpr unsigned exp_lanes = 32;
using Wide = aie::vector<int16, exp_lanes>;

// round(p / 2**(z + extra)) with (p, z) the polynomial of exp(-distance * multiplier / 2**shift /
// 3970 octaves). Result is i8 (extra = 7) or i16. Made once for many distances: it holds the
// constants, which are loaded from memory where registers do not suffice.
template <typename Result, unsigned Extra>
class Exponential {
 public:
  Exponential(int16 multiplier, int shift) : multiplier_(multiplier), shift_(shift) {}

  aie::vector<Result, exp_lanes> operator()(const Wide& distance) const {
    aie::accum<acc32, exp_lanes> sums;

    // t - 32768, which fits 16 bits; saturation is the limit of 65535 on t.
    sums.from_vector(t_start_, shift_);
    sums = aie::mac(sums, distance, multiplier_);
    const Wide t = sums.template to_vector<int16>(shift_);

    // z = round(t / 3970), at most 15.
    sums.from_vector(z_start_, 15);
    sums = aie::mac(sums, t, int16(8452));
    const Wide z = aie::min(sums.template to_vector<int16>(25), fifteen_);

    // c = t - 3970 z - 5894.
    sums.from_vector(c_start_, 0);
    sums = aie::mac(sums, t, int16(1));
    sums = aie::mac(sums, z, int16(-3970));
    const Wide c = sums.template to_vector<int16>(0);

    // p = (c * c + 31845340) / 2**12.
    sums.from_vector(p_start_, 0);
    sums = aie::mac(sums, c, c);
    const Wide p = sums.template to_vector<int16>(12);

    return aie::negmul(p, negative_power(z)).template to_vector<Result>(15 + Extra);
  }

 private:
  static Wide constant(int16 value) { return aie::broadcast<int16, exp_lanes>(value); }

  // -2**(15 - z) for z of 0 to 15. No lane of AIE1 can be shifted by an amount of its own: two bits
  // of z choose among four powers, the other two among four factors.
  Wide negative_power(const Wide& z) const {
    const auto eight = aie::ge(z, eight_);
    const auto four = aie::neq(aie::bit_and(z, four_), zero_);
    const auto two = aie::neq(aie::bit_and(z, two_), zero_);
    const auto one = aie::neq(aie::bit_and(z, one_), zero_);
    const Wide coarse = aie::select(aie::select(minus_4096_, minus_256_, four),
                                    aie::select(minus_16_, minus_1_, four), eight);
    const Wide fine =
        aie::select(aie::select(eight_, four_, one), aie::select(two_, one_, one), two);
    return aie::mul(coarse, fine).template to_vector<int16>(0);
  }

  int16 multiplier_;
  int shift_;
  Wide t_start_ = constant(-32768);
  Wide z_start_ = constant(8452);
  Wide c_start_ = constant(32768 - 5894);
  aie::vector<int32, exp_lanes> p_start_ = aie::broadcast<int32, exp_lanes>(31845340);
  Wide zero_ = constant(0), one_ = constant(1), two_ = constant(2), four_ = constant(4);
  Wide eight_ = constant(8), fifteen_ = constant(15);
  Wide minus_1_ = constant(-1), minus_16_ = constant(-16);
  Wide minus_256_ = constant(-256), minus_4096_ = constant(-4096);
};

// One vector of it.
template <typename Result, unsigned Extra>
inline aie::vector<Result, exp_lanes> exponential(const Wide& distance, int16 multiplier,
                                                  int shift) {
  return Exponential<Result, Extra>(multiplier, shift)(distance);
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
