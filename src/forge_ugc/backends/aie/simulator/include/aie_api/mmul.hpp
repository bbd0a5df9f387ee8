// aie::mmul: products of small matrices, C = A B or C += A B, all row-major.
#pragma once

#include "aie_api/mmul_shapes.hpp"
#include "aie_api/multiply.hpp"

namespace aie {

namespace detail {

// C += A B for integers, a row of C at a time. Sums of bytes' products are made in 32 bits: a shape
// has at most sixteen of them. Others may wrap at 64 bits, so they are unsigned.
template <unsigned M, unsigned K, unsigned N, class A, class B>
void add_product(std::int64_t* c, const A* a, const B* b) {
  using Sum = std::conditional_t<(sizeof(A) + sizeof(B) <= 3), std::int32_t, std::uint64_t>;
  typedef B Narrow __attribute__((vector_size(sizeof(B) * N)));
  typedef Sum Row __attribute__((vector_size(sizeof(Sum) * N)));
  Row right[K];
  for (unsigned k = 0; k < K; ++k) {
    Narrow narrow;
    std::memcpy(&narrow, b + k * N, sizeof(narrow));
    right[k] = __builtin_convertvector(narrow, Row);
  }
  for (unsigned m = 0; m < M; ++m) {
    Row sum = right[0] * static_cast<Sum>(a[m * K]);
    for (unsigned k = 1; k < K; ++k) sum += right[k] * static_cast<Sum>(a[m * K + k]);
    for (unsigned n = 0; n < N; ++n) {
      c[m * N + n] = lane_add(c[m * N + n], static_cast<std::int64_t>(sum[n]));
    }
  }
}

// The same for other lanes: complex, float and 80 bits; products are added in the order of k.
template <unsigned M, unsigned K, unsigned N, class L, class A, class B>
void add_product(L* c, const A* a, const B* b) {
  using P = part<L>;
  for (unsigned m = 0; m < M; ++m) {
    for (unsigned n = 0; n < N; ++n) {
      L sum = c[m * N + n];
      for (unsigned k = 0; k < K; ++k) {
        sum = lane_add(sum, as_lane<L>(times(widen<P>(a[m * K + k]), widen<P>(b[k * N + n]))));
      }
      c[m * N + n] = sum;
    }
  }
}

}  // namespace detail

template <unsigned M_, unsigned K_, unsigned N_, class A, class B = A, class Tag = accauto>
struct mmul {
  static constexpr unsigned M = M_, K = K_, N = N_;
  static constexpr unsigned size_A = M * K, size_B = K * N, size_C = M * N;
  static_assert(detail::MmulShapes<detail::is_aie_ml, typename detail::signed_of<A>::type,
                                   typename detail::signed_of<B>::type>::template check<M, K, N>());

  using value_type = detail::tag_or_default<Tag, A, B>;
  using accum_tag = value_type;
  using accum_type = accum<value_type, size_C>;
  using vector_A_type = vector<A, size_A>;
  using vector_B_type = vector<B, size_B>;

  mmul() = default;
  mmul(const accum_type& acc) : acc_(acc) {}
  template <class T>
  mmul(const vector<T, size_C>& v, int shift = 0) : acc_(v, shift) {}

  static constexpr unsigned size() { return size_C; }

  // C = a b
  void mul(const vector_A_type& a, const vector_B_type& b) {
    acc_ = accum_type{};
    mac(a, b);
  }
  // C += a b
  void mac(const vector_A_type& a, const vector_B_type& b) {
    constexpr double issues = M * K * N / detail::macs_per_issue<A, B>();
    aiesim::charge(aiesim::Slot::vector, (issues < 1 ? 1 : issues) * aiesim::costs().vector_issue);
    aiesim::tile().account.macs += M * K * N;
    detail::add_product<M, K, N>(acc_.lanes(), a.elements(), b.elements());
  }

  template <class T>
  vector<T, size_C> to_vector(int shift = 0) const {
    return acc_.template to_vector<T>(shift);
  }
  template <class T>
  vector<T, size_C> to_vector_sign(bool is_signed, int shift = 0) const {
    return acc_.template to_vector_sign<T>(is_signed, shift);
  }
  const accum_type& to_accum() const { return acc_; }
  operator accum_type() const { return acc_; }

 private:
  accum_type acc_;
};

}  // namespace aie
