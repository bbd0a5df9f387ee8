// Printing of vectors, accumulators, matrices and masks.
#pragma once

#include <cstdio>

#include "aie_api/accum.hpp"
#include "aie_api/mask.hpp"

namespace aie {

namespace detail {

template <class T>
void print_value(const T& value) {
  if constexpr (is_complex<T>) {
    print_value(value.real);
    std::printf("+");
    print_value(value.imag);
    std::printf("j");
  } else if constexpr (is_float<T>) {
    std::printf("%g", static_cast<double>(static_cast<float>(value)));
  } else {
    std::printf("%lld", static_cast<long long>(value));
  }
}

}  // namespace detail

template <class T, unsigned N>
void print(const vector<T, N>& v, bool newline = false, const char* prefix = nullptr) {
  if (prefix != nullptr) std::printf("%s", prefix);
  for (unsigned i = 0; i < N; ++i) {
    detail::print_value(v.elements()[i]);
    std::printf(" ");
  }
  if (newline) std::printf("\n");
}
template <class Tag, unsigned N>
void print(const accum<Tag, N>& acc, bool newline = false, const char* prefix = nullptr) {
  if (prefix != nullptr) std::printf("%s", prefix);
  for (unsigned i = 0; i < N; ++i) {
    detail::print_value(acc.lanes()[i]);
    std::printf(" ");
  }
  if (newline) std::printf("\n");
}
template <unsigned N>
void print(const mask<N>& m, bool newline = false, const char* prefix = nullptr) {
  if (prefix != nullptr) std::printf("%s", prefix);
  for (unsigned i = 0; i < N; ++i) std::printf("%d ", m.test(i) ? 1 : 0);
  if (newline) std::printf("\n");
}
template <class T, unsigned N>
void print_matrix(const vector<T, N>& v, unsigned columns, const char* prefix = nullptr) {
  for (unsigned i = 0; i < N; ++i) {
    if (i % columns == 0 && prefix != nullptr) std::printf("%s", prefix);
    detail::print_value(v.elements()[i]);
    std::printf(i % columns == columns - 1 ? "\n" : " ");
  }
}

}  // namespace aie
