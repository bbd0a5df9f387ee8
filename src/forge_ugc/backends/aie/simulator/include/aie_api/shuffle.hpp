// Elements in another order.
#pragma once

#include <utility>

#include "aie_api/vector.hpp"

namespace aie {

namespace detail {

// out[i] = v[from(i)]. AIE shuffles elements of 16 bits and more; bytes go in two steps.
template <unsigned M, class T, unsigned N, class F>
vector<T, M> gather(const vector<T, N>& v, F&& from) {
  charge_vector(sizeof(v), is_aie1 && sizeof(T) == 1 ? 2 : 1);
  vector<T, M> out;
  for (unsigned i = 0; i < M; ++i) out.elements()[i] = v.elements()[from(i)];
  return out;
}

inline void check_step(unsigned step, unsigned limit, const Site& at) {
  if (step == 0 || step > limit || (step & (step - 1)) != 0) {
    misuse("a step of " + std::to_string(step) + ": a power of two up to " + std::to_string(limit) +
               " is needed",
           at);
  }
}
inline void check_amount(unsigned n, unsigned size, const Site& at) {
  if (n > size) {
    misuse("a shuffle by " + std::to_string(n) + " of a vector of " + std::to_string(size), at);
  }
}

}  // namespace detail

template <class T, unsigned N>
vector<T, N> reverse(const vector<T, N>& v) {
  return detail::gather<N>(v, [](unsigned i) { return N - 1 - i; });
}

// Towards higher indices: element i comes from i - n. What is shifted in is not defined on the
// hardware, zero here.
template <class T, unsigned N>
vector<T, N> shuffle_up(const vector<T, N>& v, unsigned n,
                        detail::Site at = detail::Site::current()) {
  return shuffle_up_fill(v, vector<T, N>{}, n, at);
}
template <class T, unsigned N>
vector<T, N> shuffle_up_rotate(const vector<T, N>& v, unsigned n) {
  return detail::gather<N>(v, [=](unsigned i) { return (i + N - n % N) % N; });
}
template <class T, unsigned N>
vector<T, N> shuffle_up_replicate(const vector<T, N>& v, unsigned n) {
  return detail::gather<N>(v, [=](unsigned i) { return i < n ? 0 : i - n; });
}
// The last n elements of `fill` are shifted in.
template <class T, unsigned N>
vector<T, N> shuffle_up_fill(const vector<T, N>& v, const vector<T, N>& fill, unsigned n,
                             detail::Site at = detail::Site::current()) {
  detail::check_amount(n, N, at);
  detail::charge_vector(sizeof(v));
  vector<T, N> out;
  for (unsigned i = 0; i < N; ++i) {
    out.elements()[i] = i < n ? fill.elements()[N - n + i] : v.elements()[i - n];
  }
  return out;
}

// Towards lower indices: element i comes from i + n.
template <class T, unsigned N>
vector<T, N> shuffle_down(const vector<T, N>& v, unsigned n,
                          detail::Site at = detail::Site::current()) {
  return shuffle_down_fill(v, vector<T, N>{}, n, at);
}
template <class T, unsigned N>
vector<T, N> shuffle_down_rotate(const vector<T, N>& v, unsigned n) {
  return detail::gather<N>(v, [=](unsigned i) { return (i + n) % N; });
}
template <class T, unsigned N>
vector<T, N> shuffle_down_replicate(const vector<T, N>& v, unsigned n) {
  return detail::gather<N>(v, [=](unsigned i) { return i + n < N ? i + n : N - 1; });
}
// The first n elements of `fill` are shifted in.
template <class T, unsigned N>
vector<T, N> shuffle_down_fill(const vector<T, N>& v, const vector<T, N>& fill, unsigned n,
                               detail::Site at = detail::Site::current()) {
  detail::check_amount(n, N, at);
  detail::charge_vector(sizeof(v));
  vector<T, N> out;
  for (unsigned i = 0; i < N; ++i) {
    out.elements()[i] = i + n < N ? v.elements()[i + n] : fill.elements()[i + n - N];
  }
  return out;
}

// Blocks of `step` elements: the even ones, or the odd ones.
template <class T, unsigned N>
vector<T, N / 2> filter_even(const vector<T, N>& v, unsigned step = 1,
                             detail::Site at = detail::Site::current()) {
  detail::check_step(step, N / 2, at);
  return detail::gather<N / 2>(v, [=](unsigned i) { return i / step * 2 * step + i % step; });
}
template <class T, unsigned N>
vector<T, N / 2> filter_odd(const vector<T, N>& v, unsigned step = 1,
                            detail::Site at = detail::Site::current()) {
  detail::check_step(step, N / 2, at);
  return detail::gather<N / 2>(v, [=](unsigned i) { return (i / step * 2 + 1) * step + i % step; });
}

// Blocks of both in turn, as two vectors.
template <class T, unsigned N>
std::pair<vector<T, N>, vector<T, N>> interleave_zip(const vector<T, N>& a, const vector<T, N>& b,
                                                     unsigned step,
                                                     detail::Site at = detail::Site::current()) {
  detail::check_step(step, N, at);
  detail::charge_vector(2 * sizeof(a), detail::is_aie1 && sizeof(T) == 1 ? 2 : 1);
  std::pair<vector<T, N>, vector<T, N>> out;
  for (unsigned i = 0; i < 2 * N; ++i) {
    const unsigned block = i / step;
    const unsigned from = block / 2 * step + i % step;
    T& to = i < N ? out.first.elements()[i] : out.second.elements()[i - N];
    to = (block % 2 == 0 ? a : b).elements()[from];
  }
  return out;
}
// The opposite: even blocks of the two, and odd blocks.
template <class T, unsigned N>
std::pair<vector<T, N>, vector<T, N>> interleave_unzip(const vector<T, N>& a, const vector<T, N>& b,
                                                       unsigned step,
                                                       detail::Site at = detail::Site::current()) {
  detail::check_step(step, N, at);
  detail::charge_vector(2 * sizeof(a), detail::is_aie1 && sizeof(T) == 1 ? 2 : 1);
  std::pair<vector<T, N>, vector<T, N>> out;
  for (unsigned i = 0; i < 2 * N; ++i) {
    const unsigned block = i / step;
    const T& from = i < N ? a.elements()[i] : b.elements()[i - N];
    (block % 2 == 0 ? out.first : out.second).elements()[block / 2 * step + i % step] = from;
  }
  return out;
}

// A row-major matrix of `rows` by `columns` as its transpose. AIE has no vector code for bytes:
// each goes through scalar registers.
template <class T, unsigned N>
vector<T, N> transpose(const vector<T, N>& v, unsigned rows, unsigned columns,
                       detail::Site at = detail::Site::current()) {
  if (rows * columns != N) {
    detail::misuse("aie::transpose of " + std::to_string(rows) + " by " + std::to_string(columns) +
                       " elements of a vector of " + std::to_string(N),
                   at);
  }
  if (detail::is_aie1 && sizeof(T) == 1) {
    detail::charge_scalar(N * (aiesim::costs().element_get + aiesim::costs().element_set));
  } else {
    detail::charge_vector(sizeof(v), 4);
  }
  vector<T, N> out;
  for (unsigned r = 0; r < rows; ++r) {
    for (unsigned c = 0; c < columns; ++c)
      out.elements()[c * rows + r] = v.elements()[r * columns + c];
  }
  return out;
}

// first, first + step, first + 2 step, ...
template <class T, unsigned N = native_vector_length_v<T>>
vector<T, N> iota(T first, T step) {
  detail::charge_vector(sizeof(T) * N);
  vector<T, N> out;
  T value = first;
  for (unsigned i = 0; i < N; ++i) {
    out.elements()[i] = value;
    value = static_cast<T>(value + step);
  }
  return out;
}

}  // namespace aie
