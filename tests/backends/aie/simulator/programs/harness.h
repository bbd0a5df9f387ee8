// Raw arrays in from standard input and out to standard output.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "aie_api/aie.hpp"

namespace aiesim {
void fail(std::string_view what) {
  std::fprintf(stderr, "%.*s\n", static_cast<int>(what.size()), what.data());
  std::exit(1);
}
}  // namespace aiesim

template <class T>
void take(T* to, std::size_t count) {
  if (std::fread(static_cast<void*>(to), sizeof(T), count, stdin) != count) {
    aiesim::fail("no more input");
  }
}
template <class T>
T take() {
  T value{};
  take(&value, 1);
  return value;
}
template <class T, unsigned N>
aie::vector<T, N> take_vector() {
  aie::vector<T, N> v;
  take(v.elements(), N);
  return v;
}

template <class T>
void put(const T* from, std::size_t count) {
  std::fwrite(static_cast<const void*>(from), sizeof(T), count, stdout);
}
template <class T, unsigned N>
void put(const aie::vector<T, N>& v) {
  put(v.elements(), N);
}
template <unsigned N>
void put(const aie::mask<N>& m) {
  for (unsigned i = 0; i < N; ++i) std::putchar(m.test(i) ? 1 : 0);
}
template <class T>
void put_value(T value) {
  put(&value, 1);
}
