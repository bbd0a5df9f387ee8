// Shift-round-saturate in all modes; see test_rounding.py for the order.
#include "harness.h"

constexpr unsigned lanes = 16;
constexpr aie::rounding_mode roundings[] = {
    aie::rounding_mode::floor,         aie::rounding_mode::ceil,
    aie::rounding_mode::positive_inf,  aie::rounding_mode::negative_inf,
    aie::rounding_mode::symmetric_inf, aie::rounding_mode::symmetric_zero,
    aie::rounding_mode::conv_even,     aie::rounding_mode::conv_odd};
constexpr aie::saturation_mode saturations[] = {
    aie::saturation_mode::none, aie::saturation_mode::saturate, aie::saturation_mode::symmetric};

template <class Tag, class T>
void narrow(const aie::accum<Tag, lanes>& sums, int shift) {
  for (const auto rounding : roundings) {
    aie::set_rounding(rounding);
    for (const auto saturation : saturations) {
      aie::set_saturation(saturation);
      put(sums.template to_vector<T>(shift));
    }
  }
}

// Lanes as given, in 128 bits.
template <class Tag>
aie::accum<Tag, lanes> take_sums() {
  aie::accum<Tag, lanes> sums;
  for (unsigned i = 0; i < lanes; ++i) {
    sums.lanes()[i] = static_cast<aie::detail::lane<Tag>>(take<__int128>());
  }
  return sums;
}

template <class Tag>
void run() {
  for (auto blocks = take<std::int32_t>(); blocks > 0; --blocks) {
    const auto shift = take<std::int32_t>();
    const auto sums = take_sums<Tag>();
    narrow<Tag, int8>(sums, shift);
    narrow<Tag, uint8>(sums, shift);
    narrow<Tag, int16>(sums, shift);
    narrow<Tag, int32>(sums, shift);
  }
}

int main() {
#if __AIE_ARCH__ == 10
  run<acc48>();
  run<acc80>();
#else
  run<acc32>();
  run<acc64>();
#endif
}
