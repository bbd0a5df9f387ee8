// Products into accumulators; see test_multiply.py for the order.
#include "harness.h"

// Lanes of accumulators as their hardware holds them, in 128 bits.
template <class Tag, unsigned N>
void put_sums(const aie::accum<Tag, N>& sums) {
  using Acc = aie::accum<Tag, N>;
  const auto* parts = reinterpret_cast<const typename Acc::part_type*>(sums.lanes());
  for (unsigned i = 0; i < Acc::parts; ++i) {
    put_value<__int128>(aie::detail::wrap<Acc::native_bits>(parts[i]));
  }
}

template <class A, class B, unsigned N>
void products() {
  const auto a = take_vector<A, N>();
  const auto b = take_vector<B, N>();
  const B scalar = b.elements()[1];
  auto sums = aie::mul(a, b);
  put_sums(sums);
  put_sums(aie::negmul(a, b));
  sums = aie::mac(sums, a, b);
  sums = aie::mac(sums, a, scalar);
  put_sums(sums);
  sums = aie::msc(sums, aie::op_neg(a), b);
  put_sums(sums);
  put_sums(aie::add(sums, a));
  put_sums(aie::sub(sums, aie::mul(scalar, a)));
  put_sums(aie::neg(sums));
  if constexpr (aie::detail::is_complex<A>) put_sums(aie::mul(aie::op_conj(a), b));
  sums.from_vector(a, 7);
  put_sums(sums);
  for (int i = 0; i < 9; ++i) sums = aie::add(sums, sums);
  put_sums(sums);
}

int main() {
  for (auto rounds = take<std::int32_t>(); rounds > 0; --rounds) {
    products<int8, int8, 32>();
    products<int16, int8, 16>();
    products<int8, int16, 16>();
    products<int16, int16, 32>();
    products<int32, int16, 8>();
    products<int32, int32, 16>();
    products<uint8, int8, 16>();
    products<cint16, cint16, 8>();
    products<cint16, int16, 8>();
    products<cint32, cint16, 4>();
    products<cint32, cint32, 4>();
  }
}
