// Elements in another order, and reductions; see test_shuffle.py for the order.
#include "harness.h"

template <class T, unsigned N>
void shuffles() {
  const auto a = take_vector<T, N>();
  const auto b = take_vector<T, N>();
  put(aie::reverse(a));
  for (const unsigned n : {0u, 1u, N / 2, N - 1}) {
    put(aie::shuffle_up_rotate(a, n));
    put(aie::shuffle_up_replicate(a, n));
    put(aie::shuffle_up_fill(a, b, n));
    put(aie::shuffle_down_rotate(a, n));
    put(aie::shuffle_down_replicate(a, n));
    put(aie::shuffle_down_fill(a, b, n));
  }
  for (unsigned step = 1; step <= N / 2; step *= 2) {
    if constexpr (sizeof(T) * N >= 32) {
      put(aie::filter_even(a, step));
      put(aie::filter_odd(a, step));
    }
    const auto [zip_low, zip_high] = aie::interleave_zip(a, b, step);
    put(zip_low);
    put(zip_high);
    const auto [even, odd] = aie::interleave_unzip(a, b, step);
    put(even);
    put(odd);
    const auto [first, second] = aie::interleave_unzip(zip_low, zip_high, step);
    put_value<bool>(std::memcmp(&first, &a, sizeof(a)) == 0);
    put_value<bool>(std::memcmp(&second, &b, sizeof(b)) == 0);
  }
  for (unsigned rows = 1; rows <= N; rows *= 2) put(aie::transpose(a, rows, N / rows));
  put(a.template extract<N / 2>(1).template grow<N>(1));
  put(aie::concat(a.template extract<N / 2>(1), a.template extract<N / 2>(0)));
  put(aie::vector<T, N>(a).push(b.elements()[0]));
  put(a.template cast_to<int8>());
  put(aie::concat(a, b).template extract<N>(1));
}

template <class T, unsigned N>
void reductions() {
  const auto a = take_vector<T, N>();
  put_value<T>(aie::reduce_add(a));
  put_value<T>(aie::reduce_min(a));
  put_value<T>(aie::reduce_max(a));
  put(aie::iota<T, N>(a.elements()[0], a.elements()[1]));
  put(aie::broadcast<T, N>(a.elements()[2]));
  put(aie::zeros<T, N>());
}

int main() {
  for (auto rounds = take<std::int32_t>(); rounds > 0; --rounds) {
    shuffles<int8, 32>();
    shuffles<int16, 32>();
    shuffles<int32, 8>();
    reductions<int8, 64>();
    reductions<int16, 16>();
    reductions<int32, 4>();
  }
}
