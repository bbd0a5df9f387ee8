// Shapes of aie::mmul, one call each in generated.inc; see test_mmul.py.
#include "harness.h"

template <unsigned M, unsigned K, unsigned N, class A, class B>
void multiply() {
  using Mmul = aie::mmul<M, K, N, A, B>;
  using L = typename Mmul::accum_type::lane_type;
  const auto a = take_vector<A, Mmul::size_A>();
  const auto b = take_vector<B, Mmul::size_B>();
  Mmul c;
  c.mac(a, b);  // zeros before: nothing was put there
  c.mul(a, b);
  c.mac(a, b);
  put(c.to_accum().lanes(), sizeof(typename Mmul::accum_type) / sizeof(L));
}

int main() {
  for (auto rounds = take<std::int32_t>(); rounds > 0; --rounds) {
#include "generated.inc"
  }
}
