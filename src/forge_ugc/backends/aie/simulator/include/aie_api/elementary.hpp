// Reciprocals, roots, and conversions between float and fixed point.
//
// The hardware computes reciprocals and roots by approximation; here they are rounded to nearest,
// so last bits may differ.
#pragma once

#include <bit>
#include <cmath>

#include "aie_api/elementwise.hpp"

namespace aie {

namespace detail {

template <class T, unsigned N, class F>
vector<T, N> map_scalar(const vector<T, N>& v, double cycles, F&& f) {
  static_assert(is_float<T> && !is_complex<T>, "real float vectors");
  charge_scalar(N * cycles);
  vector<T, N> out;
  for (unsigned i = 0; i < N; ++i) {
    out.elements()[i] = static_cast<T>(f(static_cast<float>(v.elements()[i])));
  }
  return out;
}

// 2^n as a float, for n in the range of normal numbers.
inline double power_of_two(int n) { return std::ldexp(1.0, n); }

}  // namespace detail

inline float inv(float x) {
  detail::charge_scalar(aiesim::costs().scalar_divide);
  return 1.0f / x;
}
inline float sqrt(float x) {
  detail::charge_scalar(aiesim::costs().scalar_sqrt);
  return std::sqrt(x);
}
inline float invsqrt(float x) {
  detail::charge_scalar(aiesim::costs().scalar_sqrt);
  return 1.0f / std::sqrt(x);
}
inline float div(float a, float b) {
  detail::charge_scalar(aiesim::costs().scalar_divide);
  return a / b;
}
template <class T, unsigned N>
vector<T, N> inv(const vector<T, N>& v) {
  return detail::map_scalar(v, aiesim::costs().scalar_divide, [](float x) { return 1.0f / x; });
}
template <class T, unsigned N>
vector<T, N> sqrt(const vector<T, N>& v) {
  return detail::map_scalar(v, aiesim::costs().scalar_sqrt, [](float x) { return std::sqrt(x); });
}
template <class T, unsigned N>
vector<T, N> invsqrt(const vector<T, N>& v) {
  return detail::map_scalar(v, aiesim::costs().scalar_sqrt,
                            [](float x) { return 1.0f / std::sqrt(x); });
}
template <class T, unsigned N>
vector<T, N> div(const vector<T, N>& a, const vector<T, N>& b) {
  detail::charge_scalar(N * aiesim::costs().scalar_divide);
  vector<T, N> out;
  for (unsigned i = 0; i < N; ++i) {
    out.elements()[i] =
        static_cast<T>(static_cast<float>(a.elements()[i]) / static_cast<float>(b.elements()[i]));
  }
  return out;
}

// x * 2^-shift as float.
template <class T = float, class I, unsigned N>
vector<T, N> to_float(const vector<I, N>& v, int shift = 0) {
  static_assert(std::is_integral_v<I>, "aie::to_float: integer vectors");
  detail::charge_vector(sizeof(float) * N);
  vector<T, N> out;
  for (unsigned i = 0; i < N; ++i) {
    out.elements()[i] = static_cast<T>(
        static_cast<float>(static_cast<float>(v.elements()[i]) * detail::power_of_two(-shift)));
  }
  return out;
}
inline float to_float(int32 x, int shift = 0) {
  detail::charge_vector(sizeof(float));
  return static_cast<float>(static_cast<float>(x) * detail::power_of_two(-shift));
}

namespace detail {
// x * 2^shift to the nearest integer, halves to even on AIE, down on AIE-ML; saturated.
template <class I>
I fixed(float x, int shift) {
  const double scaled = static_cast<double>(x) * power_of_two(shift);
  const double whole = is_aie1 ? std::nearbyint(scaled) : std::floor(scaled);
  constexpr double low = static_cast<double>(std::numeric_limits<I>::min());
  constexpr double high = static_cast<double>(std::numeric_limits<I>::max());
  if (std::isnan(whole)) return 0;
  return static_cast<I>(whole < low ? low : whole > high ? high : whole);
}
}  // namespace detail
template <class I = int32, class T, unsigned N>
vector<I, N> to_fixed(const vector<T, N>& v, int shift = 0) {
  static_assert(detail::is_float<T>, "aie::to_fixed: float vectors");
  detail::charge_vector(sizeof(T) * N);
  vector<I, N> out;
  for (unsigned i = 0; i < N; ++i) {
    out.elements()[i] = detail::fixed<I>(static_cast<float>(v.elements()[i]), shift);
  }
  return out;
}
template <class I = int32>
I to_fixed(float x, int shift = 0) {
  detail::charge_vector(sizeof(float));
  return detail::fixed<I>(x, shift);
}

}  // namespace aie
