// Operations on each element: sums, limits, comparisons, bits, shifts.
#pragma once

#include <tuple>

#include "aie_api/accum.hpp"
#include "aie_api/mask.hpp"

namespace aie {

namespace detail {

// Scalars and elements of vectors stand for vectors of one repeated value.
template <class S>
struct scalar_of {
  using type = S;
};
template <class T, unsigned N>
struct scalar_of<vector_elem_ref<T, N>> {
  using type = T;
};
template <class T, unsigned N>
struct scalar_of<vector_elem_const_ref<T, N>> {
  using type = T;
};
template <class S>
using scalar = typename scalar_of<std::remove_cvref_t<S>>::type;
template <class S>
inline constexpr bool is_scalar = is_element<scalar<S>> || std::is_arithmetic_v<scalar<S>>;

template <class S>
constexpr scalar<S> scalar_value(const S& s) {
  if constexpr (requires { s.get(); }) {
    return s.get();
  } else {
    return s;
  }
}

// Sums of elements wrap, as the adders do.
template <class T>
constexpr T add_elements(T a, T b) {
  if constexpr (is_complex<T>) {
    return {add_elements(a.real, b.real), add_elements(a.imag, b.imag)};
  } else if constexpr (is_float<T>) {
    return a + b;
  } else {
    return static_cast<T>(static_cast<std::uint32_t>(a) + static_cast<std::uint32_t>(b));
  }
}
template <class T>
constexpr T negate_element(T a) {
  if constexpr (is_complex<T>) {
    return {negate_element(a.real), negate_element(a.imag)};
  } else if constexpr (is_float<T>) {
    return -a;
  } else {
    return static_cast<T>(0u - static_cast<std::uint32_t>(a));
  }
}
template <class T>
constexpr T sub_elements(T a, T b) {
  if constexpr (is_float<T> && !is_complex<T>) {
    return a - b;
  } else if constexpr (is_float<T>) {
    return {a.real - b.real, a.imag - b.imag};
  } else {
    return add_elements(a, negate_element(b));
  }
}

template <class T, unsigned N, class F>
vector<T, N> map(const vector<T, N>& a, F&& f) {
  charge_vector(sizeof(a));
  vector<T, N> out;
  for (unsigned i = 0; i < N; ++i) out.elements()[i] = f(a.elements()[i]);
  return out;
}
template <class T, unsigned N, class F>
vector<T, N> map(const vector<T, N>& a, const vector<T, N>& b, F&& f) {
  charge_vector(sizeof(a));
  vector<T, N> out;
  for (unsigned i = 0; i < N; ++i) out.elements()[i] = f(a.elements()[i], b.elements()[i]);
  return out;
}
template <class T, unsigned N>
vector<T, N> repeated(T value) {
  vector<T, N> out;
  for (unsigned i = 0; i < N; ++i) out.elements()[i] = value;
  return out;
}
template <class T, unsigned N, class F>
mask<N> compare(const vector<T, N>& a, const vector<T, N>& b, F&& f) {
  charge_vector(sizeof(a));
  mask<N> out;
  for (unsigned i = 0; i < N; ++i) {
    if (f(a.elements()[i], b.elements()[i])) out.set(i);
  }
  return out;
}

}  // namespace detail

// name(v, w), and with a scalar on either side.
#define AIESIM_BINARY(name, result)                                                  \
  template <class T, unsigned N>                                                     \
  auto name(const vector<T, N>& a, const vector<T, N>& b) {                          \
    return result;                                                                   \
  }                                                                                  \
  template <class T, unsigned N, class S>                                            \
    requires(detail::is_scalar<S>)                                                   \
  auto name(const vector<T, N>& a, const S& b) {                                     \
    return name(a, detail::repeated<T, N>(static_cast<T>(detail::scalar_value(b)))); \
  }                                                                                  \
  template <class T, unsigned N, class S>                                            \
    requires(detail::is_scalar<S>)                                                   \
  auto name(const S& a, const vector<T, N>& b) {                                     \
    return name(detail::repeated<T, N>(static_cast<T>(detail::scalar_value(a))), b); \
  }
#define AIESIM_ELEMENTS(name, expression) \
  AIESIM_BINARY(name, detail::map(a, b, [](T x, T y) -> T { return expression; }))

AIESIM_ELEMENTS(add, detail::add_elements(x, y))
AIESIM_ELEMENTS(sub, detail::sub_elements(x, y))
AIESIM_ELEMENTS(min, y < x ? y : x)
AIESIM_ELEMENTS(max, x < y ? y : x)
AIESIM_ELEMENTS(maxdiff, y < x ? detail::sub_elements(x, y) : T{})
AIESIM_ELEMENTS(bit_and, static_cast<T>(x& y))
AIESIM_ELEMENTS(bit_or, static_cast<T>(x | y))
AIESIM_ELEMENTS(bit_xor, static_cast<T>(x ^ y))

#define AIESIM_COMPARISON(name, expression) \
  AIESIM_BINARY(name, detail::compare(a, b, [](T x, T y) { return expression; }))
AIESIM_COMPARISON(lt, x < y)
AIESIM_COMPARISON(le, x <= y)
AIESIM_COMPARISON(gt, x > y)
AIESIM_COMPARISON(ge, x >= y)
AIESIM_COMPARISON(eq, x == y)
AIESIM_COMPARISON(neq, !(x == y))
#undef AIESIM_COMPARISON

// Sums that stop at the limits of the type, in the saturation mode of the tile.
namespace detail {
template <class T, unsigned N, class F>
vector<T, N> saturating(const vector<T, N>& a, const vector<T, N>& b, F&& f) {
  static_assert(std::is_integral_v<T>, "saturating arithmetic: integers");
  return map(a, b, [&](T x, T y) {
    return saturate<T>(f(std::int64_t{x}, std::int64_t{y}), aiesim::tile().saturation);
  });
}
}  // namespace detail
AIESIM_BINARY(saturating_add, detail::saturating(a, b, [](auto x, auto y) { return x + y; }))
AIESIM_BINARY(saturating_sub, detail::saturating(a, b, [](auto x, auto y) { return x - y; }))

// From the second operand where the mask is set, else from the first.
template <class T, unsigned N>
vector<T, N> select(const vector<T, N>& a, const vector<T, N>& b, const mask<N>& m) {
  detail::charge_vector(sizeof(a));
  vector<T, N> out;
  for (unsigned i = 0; i < N; ++i) out.elements()[i] = (m.test(i) ? b : a).elements()[i];
  return out;
}
template <class T, unsigned N, class S>
  requires(detail::is_scalar<S>)
vector<T, N> select(const vector<T, N>& a, const S& b, const mask<N>& m) {
  return select(a, detail::repeated<T, N>(static_cast<T>(detail::scalar_value(b))), m);
}
template <class T, unsigned N, class S>
  requires(detail::is_scalar<S>)
vector<T, N> select(const S& a, const vector<T, N>& b, const mask<N>& m) {
  return select(detail::repeated<T, N>(static_cast<T>(detail::scalar_value(a))), b, m);
}
template <class T, unsigned N>
  requires(detail::is_element<T>)
vector<T, N> select(T a, T b, const mask<N>& m) {
  return select(detail::repeated<T, N>(a), detail::repeated<T, N>(b), m);
}

// True if all elements are the same.
template <class T, unsigned N>
bool equal(const vector<T, N>& a, const vector<T, N>& b) {
  return eq(a, b).full();
}
template <class T, unsigned N>
bool not_equal(const vector<T, N>& a, const vector<T, N>& b) {
  return !equal(a, b);
}
// Minimum or maximum, and where the second operand was taken.
template <class T, unsigned N>
std::tuple<vector<T, N>, mask<N>> min_cmp(const vector<T, N>& a, const vector<T, N>& b) {
  return {min(a, b), detail::compare(a, b, [](T x, T y) { return y < x; })};
}
template <class T, unsigned N>
std::tuple<vector<T, N>, mask<N>> max_cmp(const vector<T, N>& a, const vector<T, N>& b) {
  return {max(a, b), detail::compare(a, b, [](T x, T y) { return x < y; })};
}

template <class T, unsigned N>
vector<T, N> neg(const vector<T, N>& v) {
  return detail::map(v, [](T x) { return detail::negate_element(x); });
}
template <class T, unsigned N>
vector<T, N> abs(const vector<T, N>& v) {
  static_assert(!detail::is_complex<T>, "aie::abs: real vectors");
  return detail::map(v, [](T x) { return x < T{} ? detail::negate_element(x) : x; });
}
template <class T, unsigned N>
vector<T, N> conj(const vector<T, N>& v) {
  static_assert(detail::is_complex<T>, "aie::conj: complex vectors");
  return detail::map(v, [](T x) { return T{x.real, detail::negate_element(x.imag)}; });
}
template <class T, unsigned N>
vector<T, N> bit_not(const vector<T, N>& v) {
  return detail::map(v, [](T x) { return static_cast<T>(~x); });
}

// Shifts of each part by a number of bits; to the right with or without the sign.
namespace detail {
template <class T, unsigned N, class F>
vector<T, N> map_parts(const vector<T, N>& v, F&& f) {
  charge_vector(sizeof(v));
  vector<T, N> out;
  const auto* from = reinterpret_cast<const part<T>*>(v.elements());
  auto* to = reinterpret_cast<part<T>*>(out.elements());
  for (unsigned i = 0; i < sizeof(v) / sizeof(part<T>); ++i) to[i] = f(from[i]);
  return out;
}
}  // namespace detail
template <class T, unsigned N>
vector<T, N> upshift(const vector<T, N>& v, unsigned shift) {
  return detail::map_parts(v, [=](auto x) {
    return static_cast<decltype(x)>(static_cast<std::uint64_t>(std::int64_t{x}) << shift);
  });
}
template <class T, unsigned N>
vector<T, N> downshift(const vector<T, N>& v, unsigned shift) {
  return detail::map_parts(
      v, [=](auto x) { return static_cast<decltype(x)>(std::int64_t{x} >> shift); });
}
template <class T, unsigned N>
vector<T, N> logical_downshift(const vector<T, N>& v, unsigned shift) {
  return detail::map_parts(v, [=](auto x) {
    using U = std::make_unsigned_t<decltype(x)>;
    return static_cast<decltype(x)>(std::uint64_t{static_cast<U>(x)} >> shift);
  });
}

#undef AIESIM_ELEMENTS
#undef AIESIM_BINARY

}  // namespace aie
