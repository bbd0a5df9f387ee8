// Operators on vectors, masks and accumulators, once `using namespace aie::operators` is said.
#pragma once

#include "aie_api/multiply.hpp"

namespace aie::operators {

#define AIESIM_OPERATOR(op, function)                                       \
  template <class A, class B>                                               \
    requires(Vector<A> || Vector<B> || Accum<A> || Accum<B>)                \
  auto operator op(const A& a, const B& b)->decltype(aie::function(a, b)) { \
    return aie::function(a, b);                                             \
  }
AIESIM_OPERATOR(+, add)
AIESIM_OPERATOR(-, sub)
AIESIM_OPERATOR(*, mul)
AIESIM_OPERATOR(&, bit_and)
AIESIM_OPERATOR(|, bit_or)
AIESIM_OPERATOR(^, bit_xor)
AIESIM_OPERATOR(<, lt)
AIESIM_OPERATOR(<=, le)
AIESIM_OPERATOR(>, gt)
AIESIM_OPERATOR(>=, ge)
AIESIM_OPERATOR(==, eq)
AIESIM_OPERATOR(!=, neq)
#undef AIESIM_OPERATOR

template <class T, unsigned N>
auto operator-(const vector<T, N>& v) {
  return aie::neg(v);
}
template <class T, unsigned N>
auto operator~(const vector<T, N>& v) {
  return aie::bit_not(v);
}
template <class T, unsigned N>
auto operator<<(const vector<T, N>& v, unsigned n) {
  return aie::upshift(v, n);
}
template <class T, unsigned N>
auto operator>>(const vector<T, N>& v, unsigned n) {
  return aie::downshift(v, n);
}
template <class A, class B>
  requires(Vector<A> || Accum<A>)
A& operator+=(A& a, const B& b) {
  return a = aie::add(a, b);
}
template <class A, class B>
  requires(Vector<A> || Accum<A>)
A& operator-=(A& a, const B& b) {
  return a = aie::sub(a, b);
}

}  // namespace aie::operators
