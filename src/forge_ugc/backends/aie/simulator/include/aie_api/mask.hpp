// aie::mask: one bit a lane, the results of comparisons.
#pragma once

#include <bit>
#include <cstdint>

#include "aie_api/report.hpp"
#include "aie_api/types.hpp"

namespace aie {

template <unsigned N>
class mask {
  static_assert(N >= 2 && N <= 256 && (N & (N - 1)) == 0, "aie::mask: 2 to 256 bits");
  static constexpr unsigned words = (N + 63) / 64;
  static constexpr std::uint64_t used =
      N >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << N % 64) - 1;

 public:
  constexpr mask() = default;

  // The first argument holds the lowest bits.
  template <class... Words>
    requires(std::integral<Words> && ...)
  static constexpr mask from_uint32(Words... values) {
    static_assert(sizeof...(Words) == (N + 31) / 32, "aie::mask::from_uint32: a word for 32 bits");
    mask out;
    unsigned at = 0;
    ((out.bits_[at / 64] |= std::uint64_t{static_cast<std::uint32_t>(values)} << (at % 64),
      at += 32),
     ...);
    out.trim();
    return out;
  }
  template <class... Words>
    requires(std::integral<Words> && ...)
  static constexpr mask from_uint64(Words... values) {
    static_assert(sizeof...(Words) == words, "aie::mask::from_uint64: a word for 64 bits");
    mask out;
    unsigned at = 0;
    ((out.bits_[at++] = static_cast<std::uint64_t>(values)), ...);
    out.trim();
    return out;
  }

  static constexpr unsigned size() { return N; }
  constexpr bool test(unsigned i) const {
    check(i);
    return (bits_[i / 64] >> (i % 64) & 1) != 0;
  }
  constexpr bool operator[](unsigned i) const { return test(i); }
  constexpr void set(unsigned i) {
    check(i);
    bits_[i / 64] |= std::uint64_t{1} << (i % 64);
  }
  constexpr void clear(unsigned i) {
    check(i);
    bits_[i / 64] &= ~(std::uint64_t{1} << (i % 64));
  }
  constexpr void toggle(unsigned i) { test(i) ? clear(i) : set(i); }
  constexpr unsigned count() const {
    unsigned n = 0;
    for (const std::uint64_t word : bits_) n += static_cast<unsigned>(std::popcount(word));
    return n;
  }
  constexpr bool empty() const { return count() == 0; }
  constexpr bool full() const { return count() == N; }
  // Zeros above the highest set bit, below the lowest one; N if there is none.
  constexpr unsigned clz() const {
    unsigned n = 0;
    while (n < N && !test(N - 1 - n)) ++n;
    return n;
  }
  constexpr unsigned ctz() const {
    unsigned n = 0;
    while (n < N && !test(n)) ++n;
    return n;
  }
  constexpr std::uint32_t to_uint32(unsigned word = 0) const {
    return static_cast<std::uint32_t>(bits_[word / 2] >> (word % 2 * 32));
  }
  constexpr std::uint64_t to_uint64(unsigned word = 0) const { return bits_[word]; }

  template <unsigned M>
  constexpr mask<M> extract(unsigned index) const {
    mask<M> out;
    for (unsigned i = 0; i < M; ++i) {
      if (test(index * M + i)) out.set(i);
    }
    return out;
  }
  template <unsigned M>
  constexpr mask& insert(unsigned index, const mask<M>& part) {
    for (unsigned i = 0; i < M; ++i) {
      part.test(i) ? set(index * M + i) : clear(index * M + i);
    }
    return *this;
  }
  template <unsigned M>
  constexpr mask<M> grow(unsigned index = 0) const {
    return mask<M>{}.insert(index, *this);
  }

  friend constexpr mask operator&(mask a, const mask& b) { return a &= b; }
  friend constexpr mask operator|(mask a, const mask& b) { return a |= b; }
  friend constexpr mask operator^(mask a, const mask& b) { return a ^= b; }
  constexpr mask& operator&=(const mask& b) {
    for (unsigned w = 0; w < words; ++w) bits_[w] &= b.bits_[w];
    return *this;
  }
  constexpr mask& operator|=(const mask& b) {
    for (unsigned w = 0; w < words; ++w) bits_[w] |= b.bits_[w];
    return *this;
  }
  constexpr mask& operator^=(const mask& b) {
    for (unsigned w = 0; w < words; ++w) bits_[w] ^= b.bits_[w];
    return *this;
  }
  constexpr mask operator~() const {
    mask out;
    for (unsigned w = 0; w < words; ++w) out.bits_[w] = ~bits_[w];
    out.trim();
    return out;
  }
  constexpr mask operator<<(unsigned n) const {
    mask out;
    for (unsigned i = n; i < N; ++i) {
      if (test(i - n)) out.set(i);
    }
    return out;
  }
  constexpr mask operator>>(unsigned n) const {
    mask out;
    for (unsigned i = 0; i + n < N; ++i) {
      if (test(i + n)) out.set(i);
    }
    return out;
  }
  friend constexpr bool operator==(const mask&, const mask&) = default;

 private:
  static constexpr void check(unsigned i) {
    if (i >= N) detail::out_of_range("a bit of a mask", i, N);
  }
  constexpr void trim() { bits_[words - 1] &= used; }

  std::uint64_t bits_[words]{};
};

}  // namespace aie
