// Operations on each element of two vectors; see test_elementwise.py for the order.
#include "harness.h"

template <class T, unsigned N>
void shared(const aie::vector<T, N>& a, const aie::vector<T, N>& b) {
  put(aie::add(a, b));
  put(aie::sub(a, b));
  put(aie::min(a, b));
  put(aie::max(a, b));
  put(aie::neg(a));
  put(aie::abs(a));
  put(aie::add(a, b.elements()[0]));
  put(aie::sub(b.elements()[0], a));
  put(aie::lt(a, b));
  put(aie::le(a, b));
  put(aie::gt(a, b));
  put(aie::ge(a, b));
  put(aie::eq(a, b));
  put(aie::neq(a, b));
  put(aie::select(a, b, aie::lt(a, b)));
  put_value<bool>(aie::equal(a, b));
  put_value<bool>(aie::equal(a, a));
}

template <class T, unsigned N>
void integers() {
  const auto a = take_vector<T, N>();
  const auto b = take_vector<T, N>();
  shared(a, b);
  put(aie::maxdiff(a, b));
  put(aie::bit_and(a, b));
  put(aie::bit_or(a, b));
  put(aie::bit_xor(a, b));
  put(aie::bit_not(a));
  put(aie::upshift(a, 3));
  put(aie::downshift(a, 3));
  put(aie::logical_downshift(a, 3));
  for (const auto mode : {aie::saturation_mode::none, aie::saturation_mode::saturate,
                          aie::saturation_mode::symmetric}) {
    aie::set_saturation(mode);
    put(aie::saturating_add(a, b));
    put(aie::saturating_sub(a, b));
  }
}

template <class T, class Narrow, unsigned N>
void packs() {
  const auto a = take_vector<T, N>();
  for (const auto mode : {aie::saturation_mode::none, aie::saturation_mode::saturate,
                          aie::saturation_mode::symmetric}) {
    aie::set_saturation(mode);
    put(a.template pack<Narrow>());
  }
  put(a.template pack<Narrow>().template unpack<T>());
}

int main() {
  const auto rounds = take<std::int32_t>();
  for (int i = 0; i < rounds; ++i) {
    integers<int8, 32>();
    integers<uint8, 64>();
    integers<int16, 16>();
    integers<uint16, 8>();
    integers<int32, 16>();
    integers<uint32, 4>();
    packs<int16, int8, 32>();
    packs<int16, uint8, 16>();
    packs<int32, int16, 16>();
    const auto a = take_vector<float, 8>();
    shared(a, take_vector<float, 8>());
  }
}
