// Products into accumulators, and sums of accumulators.
#pragma once

#include "aie_api/elementwise.hpp"

namespace aie {

namespace detail {

// Multiplicands may be changed on their way into the multiplier, exactly: -(-32768) is 32768 there.
enum class Change { none, negate, conjugate, absolute };
template <class V, Change C>
struct Changed {
  V value;
  bool active = true;
};

// The element type of a multiplicand; literals are int32 or float.
template <class M>
struct multiplicand {
  using type = std::conditional_t<
      is_element<scalar<M>>, scalar<M>,
      std::conditional_t<std::is_floating_point_v<scalar<M>>, float, std::int32_t>>;
  static constexpr unsigned lanes = 0;
};
template <class T, unsigned N>
struct multiplicand<vector<T, N>> {
  using type = T;
  static constexpr unsigned lanes = N;
};
template <class V, Change C>
struct multiplicand<Changed<V, C>> : multiplicand<V> {};
template <class M>
using element_of = typename multiplicand<std::remove_cvref_t<M>>::type;
template <class M>
inline constexpr unsigned lanes_of = multiplicand<std::remove_cvref_t<M>>::lanes;
template <class A, class B>
inline constexpr unsigned product_lanes = lanes_of<A> != 0 ? lanes_of<A> : lanes_of<B>;
template <class M>
concept Multiplicand = is_scalar<M> || lanes_of<M> != 0;

// Element i, widened to parts P.
template <class P, class S>
constexpr auto lane_at(const S& s, unsigned) {
  return widen<P>(static_cast<element_of<S>>(scalar_value(s)));
}
template <class P, class T, unsigned N>
constexpr auto lane_at(const vector<T, N>& v, unsigned i) {
  return widen<P>(v.elements()[i]);
}
template <class P, class V, Change C>
constexpr auto lane_at(const Changed<V, C>& v, unsigned i) {
  const auto lane = lane_at<P>(v.value, i);
  if (!v.active) return lane;
  if constexpr (C == Change::negate) return lane_negate(lane);
  if constexpr (C == Change::conjugate) return lane_conjugate(lane);
  if constexpr (C == Change::absolute) return lane < 0 ? lane_negate(lane) : lane;
}

// Lanes that one instruction multiplies element by element.
template <class A, class B>
constexpr double lanes_per_issue() {
  constexpr unsigned wider = sizeof(part<A>) > sizeof(part<B>) ? sizeof(part<A>) : sizeof(part<B>);
  constexpr bool both_complex = is_complex<A> && is_complex<B>;
  constexpr bool any_complex = is_complex<A> || is_complex<B>;
  if (is_float<A>) {
    if (wider == 2) return 16;
    return (any_complex ? (both_complex ? 2 : 4) : 8) / (is_aie_ml ? 3.0 : 1.0);
  }
  if (any_complex) return wider <= 2 ? 8 : both_complex ? 2 : 4;
  if (is_aie1) return wider <= 2 ? 16 : 8;
  return wider <= 2 ? 32 : sizeof(part<A>) == sizeof(part<B>) ? 8 : 16;
}

template <class A, class B>
void charge_product(unsigned lanes) {
  const double issues = static_cast<double>(lanes) / lanes_per_issue<A, B>();
  aiesim::charge(aiesim::Slot::vector, (issues < 1 ? 1 : issues) * aiesim::costs().vector_issue);
  aiesim::tile().account.macs += lanes;
}

// out[i] = start[i] + a[i] * b[i], or minus; without a start from zero.
template <bool Minus, bool HasStart, class Tag, unsigned N, class A, class B>
accum<Tag, N> products(const accum<Tag, N>& start, const A& a, const B& b) {
  using L = lane<Tag>;
  using P = part<L>;
  charge_product<element_of<A>, element_of<B>>(N);
  accum<Tag, N> out;
  for (unsigned i = 0; i < N; ++i) {
    const L product = as_lane<L>(times(lane_at<P>(a, i), lane_at<P>(b, i)));
    if constexpr (HasStart) {
      out.lanes()[i] =
          Minus ? lane_sub(start.lanes()[i], product) : lane_add(start.lanes()[i], product);
    } else {
      out.lanes()[i] = Minus ? lane_negate(product) : product;
    }
  }
  return out;
}

// An accumulator that is subtracted, or not used at all.
enum class AccumChange { negate, zero };
template <class Acc, AccumChange C>
struct ChangedAccum {
  Acc value;
  bool active;
};
template <class Tag, unsigned N>
const accum<Tag, N>& start_of(const accum<Tag, N>& acc) {
  return acc;
}
template <class Tag, unsigned N, AccumChange C>
accum<Tag, N> start_of(const ChangedAccum<accum<Tag, N>, C>& acc) {
  if (!acc.active) return acc.value;
  accum<Tag, N> out;
  if constexpr (C == AccumChange::negate) {
    for (unsigned i = 0; i < N; ++i) out.lanes()[i] = lane_negate(acc.value.lanes()[i]);
  }
  return out;
}
template <class A>
concept Start = requires(const A& a) { start_of(a); };

template <class Tag, class A, class B>
using product_tag = tag_or_default<Tag, element_of<A>, element_of<B>>;

}  // namespace detail

template <detail::Multiplicand V>
auto op_conj(const V& v) {
  return detail::Changed<V, detail::Change::conjugate>{v};
}
template <detail::Multiplicand V>
auto op_abs(const V& v) {
  return detail::Changed<V, detail::Change::absolute>{v};
}
template <detail::Multiplicand V>
auto op_neg(const V& v, bool active = true) {
  return detail::Changed<V, detail::Change::negate>{v, active};
}
template <class V>
const V& op_none(const V& v) {
  return v;
}
template <class Tag, unsigned N>
const accum<Tag, N>& op_add(const accum<Tag, N>& acc) {
  return acc;
}
template <class Tag, unsigned N>
auto op_sub(const accum<Tag, N>& acc) {
  return detail::ChangedAccum<accum<Tag, N>, detail::AccumChange::negate>{acc, true};
}
template <class Tag, unsigned N>
auto op_zero(const accum<Tag, N>& acc, bool to_zero) {
  return detail::ChangedAccum<accum<Tag, N>, detail::AccumChange::zero>{acc, to_zero};
}
template <class T, unsigned N>
vector<T, N> op_min(const vector<T, N>& a, const vector<T, N>& b) {
  return min(a, b);
}
template <class T, unsigned N>
vector<T, N> op_max(const vector<T, N>& a, const vector<T, N>& b) {
  return max(a, b);
}

template <class Tag = accauto, detail::Multiplicand A, detail::Multiplicand B>
  requires(detail::product_lanes<A, B> != 0)
auto mul(const A& a, const B& b) {
  static_assert(detail::lanes_of<A> == 0 || detail::lanes_of<B> == 0 ||
                    detail::lanes_of<A> == detail::lanes_of<B>,
                "aie::mul: vectors of one size");
  using Acc = accum<detail::product_tag<Tag, A, B>, detail::product_lanes<A, B>>;
  return detail::products<false, false>(Acc{}, a, b);
}
template <class Tag = accauto, detail::Multiplicand A, detail::Multiplicand B>
  requires(detail::product_lanes<A, B> != 0)
auto negmul(const A& a, const B& b) {
  using Acc = accum<detail::product_tag<Tag, A, B>, detail::product_lanes<A, B>>;
  return detail::products<true, false>(Acc{}, a, b);
}
template <detail::Start Acc, detail::Multiplicand A, detail::Multiplicand B>
auto mac(const Acc& acc, const A& a, const B& b) {
  return detail::products<false, true>(detail::start_of(acc), a, b);
}
template <detail::Start Acc, detail::Multiplicand A, detail::Multiplicand B>
auto msc(const Acc& acc, const A& a, const B& b) {
  return detail::products<true, true>(detail::start_of(acc), a, b);
}
template <class Tag = accauto, class T, unsigned N>
auto mul_square(const vector<T, N>& v) {
  return mul<Tag>(v, v);
}
template <detail::Start Acc, class T, unsigned N>
auto mac_square(const Acc& acc, const vector<T, N>& v) {
  return mac(acc, v, v);
}
template <detail::Start Acc, class T, unsigned N>
auto msc_square(const Acc& acc, const vector<T, N>& v) {
  return msc(acc, v, v);
}

// real^2 + imag^2 of each element, shifted, rounded and saturated.
template <class T, unsigned N>
auto abs_square(const vector<T, N>& v, int shift = 0) {
  static_assert(detail::is_complex<T>, "aie::abs_square: complex vectors");
  using Part = std::conditional_t<detail::is_float<T>, float, int32>;
  detail::charge_product<T, T>(N);
  if constexpr (detail::is_float<T>) {
    vector<Part, N> out;
    for (unsigned i = 0; i < N; ++i) {
      const T& x = v.elements()[i];
      out.elements()[i] = x.real * x.real + x.imag * x.imag;
    }
    return out;
  } else {
    using Tag = std::conditional_t<detail::is_aie1 && sizeof(T) == 4, acc48,
                                   std::conditional_t<detail::is_aie1, acc80, acc64>>;
    using L = detail::lane<Tag>;
    accum<Tag, N> sums;
    for (unsigned i = 0; i < N; ++i) {
      const T& x = v.elements()[i];
      sums.lanes()[i] = detail::lane_add(detail::lane_multiply(L{x.real}, L{x.real}),
                                         detail::lane_multiply(L{x.imag}, L{x.imag}));
    }
    return sums.template to_vector<Part>(shift);
  }
}

// Sums of accumulators, and of vectors or scalars and accumulators.
namespace detail {
template <class Tag, unsigned N, class F>
accum<Tag, N> combine(const accum<Tag, N>& a, const accum<Tag, N>& b, F&& f) {
  charge_vector(N * 8);
  accum<Tag, N> out;
  for (unsigned i = 0; i < N; ++i) out.lanes()[i] = f(a.lanes()[i], b.lanes()[i]);
  return out;
}
template <class Tag, unsigned N, class S>
accum<Tag, N> filled(const S& s) {
  using L = lane<Tag>;
  accum<Tag, N> out;
  for (unsigned i = 0; i < N; ++i) out.lanes()[i] = as_lane<L>(lane_at<part<L>>(s, i));
  return out;
}
}  // namespace detail

#define AIESIM_ACCUM_SUM(name, lane_function)                                           \
  template <class Tag, class Other, unsigned N>                                         \
  accum<Tag, N> name(const accum<Tag, N>& a, const accum<Other, N>& b) {                \
    return detail::combine(a, accum<Tag, N>(b),                                         \
                           [](auto x, auto y) { return detail::lane_function(x, y); }); \
  }                                                                                     \
  template <class Tag, unsigned N, detail::Multiplicand B>                              \
  accum<Tag, N> name(const accum<Tag, N>& a, const B& b) {                              \
    return detail::combine(a, detail::filled<Tag, N>(b),                                \
                           [](auto x, auto y) { return detail::lane_function(x, y); }); \
  }                                                                                     \
  template <class Tag, unsigned N, detail::Multiplicand A>                              \
  accum<Tag, N> name(const A& a, const accum<Tag, N>& b) {                              \
    return detail::combine(detail::filled<Tag, N>(a), b,                                \
                           [](auto x, auto y) { return detail::lane_function(x, y); }); \
  }
AIESIM_ACCUM_SUM(add, lane_add)
AIESIM_ACCUM_SUM(sub, lane_sub)
#undef AIESIM_ACCUM_SUM

template <class Tag, unsigned N>
accum<Tag, N> neg(const accum<Tag, N>& acc) {
  return sub(accum<Tag, N>{}, acc);
}

}  // namespace aie
