// One value from all elements.
#pragma once

#include "aie_api/multiply.hpp"

namespace aie {

namespace detail {

// Halves the vector until one element is left, as the hardware does: float sums keep its order.
template <class T, unsigned N, class F>
T reduce(const vector<T, N>& v, F&& f) {
  T rest[N];
  std::memcpy(static_cast<void*>(rest), v.elements(), sizeof(rest));
  for (unsigned half = N / 2; half > 0; half /= 2) {
    aiesim::charge(aiesim::Slot::vector, aiesim::costs().reduce_step);
    for (unsigned i = 0; i < half; ++i) rest[i] = f(rest[i], rest[i + half]);
  }
  aiesim::tile().end_chain();
  return rest[0];
}

}  // namespace detail

// The sum wraps at the width of the elements.
template <class T, unsigned N>
T reduce_add(const vector<T, N>& v) {
  return detail::reduce(v, [](T a, T b) { return detail::add_elements(a, b); });
}
template <class T, unsigned N>
T reduce_min(const vector<T, N>& v) {
  return detail::reduce(v, [](T a, T b) { return b < a ? b : a; });
}
template <class T, unsigned N>
T reduce_max(const vector<T, N>& v) {
  return detail::reduce(v, [](T a, T b) { return a < b ? b : a; });
}
template <class T, unsigned N>
T reduce_mul(const vector<T, N>& v) {
  static_assert(detail::is_float<T> && !detail::is_complex<T>, "aie::reduce_mul: float vectors");
  return detail::reduce(v, [](T a, T b) { return static_cast<T>(a * b); });
}
// The sums of several vectors in the first elements of one.
template <class T, unsigned N, class... Rest>
vector<T, N> reduce_add_v(const vector<T, N>& first, const Rest&... rest) {
  static_assert(sizeof...(Rest) < N, "aie::reduce_add_v: more sums than elements");
  vector<T, N> out;
  unsigned i = 0;
  out.elements()[i++] = reduce_add(first);
  ((out.elements()[i++] = reduce_add(rest)), ...);
  return out;
}

}  // namespace aie
