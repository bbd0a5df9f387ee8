// aie::vector: the elements of a vector register.
#pragma once

#include <array>
#include <cstring>

#include "aie_api/lanes.hpp"
#include "aie_api/report.hpp"

namespace aie {

namespace detail {

// The type of half or double width that pack and unpack convert to.
template <class T>
struct half_of;
template <class T>
struct double_of;
template <>
struct half_of<int16> {
  using type = int8;
};
template <>
struct half_of<uint16> {
  using type = uint8;
};
template <>
struct half_of<int32> {
  using type = int16;
};
template <>
struct half_of<uint32> {
  using type = uint16;
};
template <>
struct double_of<int8> {
  using type = int16;
};
template <>
struct double_of<uint8> {
  // AIE has no vectors of uint16.
  using type = std::conditional_t<is_aie1, int16, uint16>;
};
template <>
struct double_of<int16> {
  using type = int32;
};
template <>
struct double_of<uint16> {
  using type = uint32;
};

}  // namespace detail

// An element of a vector that is addressed by an index: reading and writing it is scalar code.
template <class T, unsigned N>
class vector_elem_const_ref {
 public:
  using value_type = T;
  vector_elem_const_ref(const vector<T, N>& from, unsigned index) : from_(from), index_(index) {}
  operator T() const {
    detail::charge_scalar(aiesim::costs().element_arithmetic);
    return from_.get(index_);
  }
  T get() const { return from_.get(index_); }

 private:
  const vector<T, N>& from_;
  unsigned index_;
};

template <class T, unsigned N>
class vector_elem_ref {
 public:
  using value_type = T;
  vector_elem_ref(vector<T, N>& from, unsigned index) : from_(from), index_(index) {}
  vector_elem_ref(const vector_elem_ref&) = default;
  operator T() const {
    detail::charge_scalar(aiesim::costs().element_arithmetic);
    return from_.get(index_);
  }
  T get() const { return from_.get(index_); }
  vector_elem_ref& operator=(T value) {
    from_.set(value, index_);
    return *this;
  }
  vector_elem_ref& operator=(const vector_elem_ref& other) { return *this = other.get(); }
  template <unsigned M>
  vector_elem_ref& operator=(const vector_elem_const_ref<T, M>& other) {
    return *this = other.get();
  }
  template <unsigned M>
  vector_elem_ref& operator=(const vector_elem_ref<T, M>& other) {
    return *this = other.get();
  }
#define AIESIM_ASSIGN(op)                                          \
  template <class V>                                               \
  vector_elem_ref& operator op## = (const V& value) {              \
    return *this = static_cast<T>(static_cast<T>(*this) op value); \
  }
  AIESIM_ASSIGN(+)
  AIESIM_ASSIGN(-)
  AIESIM_ASSIGN(*)
  AIESIM_ASSIGN(/)
  AIESIM_ASSIGN(%)
  AIESIM_ASSIGN(&)
  AIESIM_ASSIGN(|)
  AIESIM_ASSIGN(^)
  AIESIM_ASSIGN(<<)
  AIESIM_ASSIGN(>>)
#undef AIESIM_ASSIGN

 private:
  vector<T, N>& from_;
  unsigned index_;
};

template <class T, unsigned N>
class alignas(16) vector {
  static_assert(detail::is_element<T>,
                "aie::vector: elements are int8, uint8, int16, uint16, int32, uint32, float, "
                "bfloat16, cint16, cint32 or cfloat");
  static_assert(!detail::is_element<T> || sizeof(T) * N == 16 || sizeof(T) * N == 32 ||
                    sizeof(T) * N == 64 || sizeof(T) * N == 128 ||
                    (detail::is_aie_ml && sizeof(T) * N == 256),
                "aie::vector: a vector has 128, 256, 512 or 1024 bits, or 2048 on AIE-ML");
  static_assert(!(std::is_same_v<T, bfloat16> && detail::is_aie1),
                "aie::vector: AIE has no bfloat16; AIE-ML does (__AIE_ARCH__ 20)");

 public:
  using value_type = T;
  using Site = detail::Site;

  // Elements start as zeros, so that runs are alike; on the hardware they are not defined.
  vector() = default;
  template <class... Values>
    requires(sizeof...(Values) == N && N > 1 && (std::convertible_to<Values, T> && ...))
  explicit vector(Values... values) : data_{static_cast<T>(values)...} {}

  static constexpr unsigned size() { return N; }
  static constexpr unsigned type_bits() { return sizeof(T) * 8; }
  static constexpr unsigned bits() { return sizeof(T) * 8 * N; }
  static constexpr bool is_signed() { return !std::is_unsigned_v<T>; }
  static constexpr bool is_complex() { return detail::is_complex<T>; }
  static constexpr bool is_real() { return !detail::is_complex<T>; }
  static constexpr bool is_integral() { return !detail::is_float<T>; }
  static constexpr bool is_floating_point() { return detail::is_float<T>; }

  // Elements without their cost, for the library itself.
  T* elements() { return data_; }
  const T* elements() const { return data_; }

  T get(unsigned index, Site at = Site::current()) const {
    if (index >= N) detail::out_of_range("get of an element of a vector", index, N, at);
    detail::charge_scalar(aiesim::costs().element_get);
    return data_[index];
  }
  void set(T value, unsigned index, Site at = Site::current()) {
    if (index >= N) detail::out_of_range("set of an element of a vector", index, N, at);
    detail::charge_scalar(aiesim::costs().element_set);
    data_[index] = value;
  }
  vector_elem_ref<T, N> operator[](unsigned index) { return elem_ref(index); }
  vector_elem_const_ref<T, N> operator[](unsigned index) const { return elem_ref(index); }
  vector_elem_ref<T, N> elem_ref(unsigned index) {
    if (index >= N) detail::out_of_range("an element of a vector", index, N);
    return {*this, index};
  }
  vector_elem_const_ref<T, N> elem_ref(unsigned index) const {
    if (index >= N) detail::out_of_range("an element of a vector", index, N);
    return {*this, index};
  }

  // Moves all elements up by one and puts `value` into the first.
  vector& push(T value) {
    detail::charge_vector(sizeof(*this));
    std::memmove(data_ + 1, data_, sizeof(T) * (N - 1));
    data_[0] = value;
    return *this;
  }

  template <unsigned M>
  vector<T, M> extract(unsigned index, Site at = Site::current()) const {
    static_assert(M <= N && N % M == 0,
                  "aie::vector::extract: a part is not larger than its whole");
    if (index >= N / M) detail::out_of_range("extract of a part of a vector", index, N / M, at);
    if constexpr (M != N && sizeof(T) * M < 16) detail::charge_move(16);
    vector<T, M> out;
    std::memcpy(out.elements(), data_ + index * M, sizeof(T) * M);
    return out;
  }
  template <unsigned M>
  std::array<vector<T, M>, N / M> split() const {
    std::array<vector<T, M>, N / M> out;
    for (unsigned i = 0; i < N / M; ++i) out[i] = extract<M>(i);
    return out;
  }
  template <unsigned M>
  vector& insert(unsigned index, const vector<T, M>& part, Site at = Site::current()) {
    static_assert(M <= N && N % M == 0, "aie::vector::insert: a part is not larger than its whole");
    if (index >= N / M) detail::out_of_range("insert of a part of a vector", index, N / M, at);
    std::memcpy(data_ + index * M, part.elements(), sizeof(T) * M);
    return *this;
  }
  template <unsigned M>
  vector<T, M> grow(unsigned index = 0, Site at = Site::current()) const {
    static_assert(M >= N && M % N == 0, "aie::vector::grow: the result is not smaller");
    vector<T, M> out;
    out.insert(index, *this, at);
    return out;
  }
  template <unsigned M>
  vector<T, M> grow_replicate() const {
    static_assert(M >= N && M % N == 0, "aie::vector::grow_replicate: the result is not smaller");
    vector<T, M> out;
    for (unsigned i = 0; i < M / N; ++i) out.insert(i, *this);
    return out;
  }

  // The same bits as elements of another type.
  template <class To>
  auto cast_to() const {
    static_assert((sizeof(T) * N) % sizeof(To) == 0);
    vector<To, sizeof(T) * N / sizeof(To)> out;
    std::memcpy(static_cast<void*>(out.elements()), data_, sizeof(data_));
    return out;
  }

  // To half the width, in the saturation mode of the tile.
  template <class To>
  vector<To, N> pack() const {
    static_assert(sizeof(To) * 2 == sizeof(T) && std::is_integral_v<T>,
                  "aie::vector::pack: integers to half their width");
    detail::charge_vector(sizeof(*this));
    const detail::Narrowing how = detail::narrowing(0);
    vector<To, N> out;
    for (unsigned i = 0; i < N; ++i) {
      out.elements()[i] = detail::saturate<To>(std::int64_t{data_[i]}, how.saturation);
    }
    return out;
  }
  auto pack() const { return pack<typename detail::half_of<T>::type>(); }
  // To double the width.
  template <class To>
  vector<To, N> unpack() const {
    static_assert(sizeof(To) == 2 * sizeof(T) && std::is_integral_v<T>,
                  "aie::vector::unpack: integers to double their width");
    detail::charge_vector(sizeof(To) * N);
    vector<To, N> out;
    for (unsigned i = 0; i < N; ++i) out.elements()[i] = static_cast<To>(data_[i]);
    return out;
  }
  auto unpack() const { return unpack<typename detail::double_of<T>::type>(); }

  // Loads and stores; `aligned` is in elements.
  void load(const T* from, Site at = Site::current()) {
    detail::check_alignment<T, N>(from, vector_ldst_align_v<T, N>, "a vector load", at);
    detail::charge_load(sizeof(*this));
    std::memcpy(static_cast<void*>(data_), from, sizeof(data_));
  }
  void store(T* to, Site at = Site::current()) const {
    detail::check_alignment<T, N>(to, vector_ldst_align_v<T, N>, "a vector store", at);
    detail::charge_store(sizeof(*this));
    std::memcpy(static_cast<void*>(to), data_, sizeof(data_));
  }
  void load_unaligned(const T* from, unsigned aligned = 1, Site at = Site::current()) {
    check_unaligned(from, aligned, "an unaligned vector load", at);
    aiesim::charge(aiesim::Slot::load,
                   static_cast<double>((sizeof(data_) + 31) / 32) * aiesim::costs().unaligned_load);
    std::memcpy(static_cast<void*>(data_), from, sizeof(data_));
  }
  void store_unaligned(T* to, unsigned aligned = 1, Site at = Site::current()) const {
    check_unaligned(to, aligned, "an unaligned vector store", at);
    detail::charge_store(2 * sizeof(data_));
    std::memcpy(static_cast<void*>(to), data_, sizeof(data_));
  }

  const vector& to_native() const { return *this; }
  friend bool operator==(const vector&, const vector&) = delete;  // aie::equal, aie::eq

 private:
  static void check_unaligned(const T* address, unsigned aligned, const char* what,
                              const Site& at) {
    const std::size_t bytes =
        std::min<std::size_t>(sizeof(T) * (aligned == 0 ? 1 : aligned), vector_ldst_align_v<T, N>);
    detail::check_alignment<T, N>(address, bytes, what, at);
  }

  T data_[N]{};
};

namespace detail {

template <class V>
struct is_vector_type : std::false_type {};
template <class T, unsigned N>
struct is_vector_type<vector<T, N>> : std::true_type {};

}  // namespace detail

template <class V>
concept Vector = detail::is_vector_type<std::remove_cvref_t<V>>::value;

template <class To, class T, unsigned N>
auto vector_cast(const vector<T, N>& v) {
  return v.template cast_to<To>();
}

template <class T, unsigned N, class... Rest>
auto concat(const vector<T, N>& first, const Rest&... rest) {
  constexpr unsigned size = N * (1 + sizeof...(Rest));
  static_assert((std::is_same_v<Rest, vector<T, N>> && ...), "aie::concat: vectors of one type");
  vector<T, size> out;
  unsigned index = 0;
  out.insert(index++, first);
  (out.insert(index++, rest), ...);
  return out;
}

template <class T, unsigned N>
auto pack(const vector<T, N>& v) {
  return v.pack();
}
template <class T, unsigned N>
auto unpack(const vector<T, N>& v) {
  return v.unpack();
}

// Elements of a register of 512 bits.
template <class T>
inline constexpr unsigned native_vector_length_v = detail::is_element<T> ? 64 / sizeof(T) : 0;

template <class T, unsigned N = native_vector_length_v<T>>
vector<T, N> broadcast(std::type_identity_t<T> value) {
  detail::charge_move(sizeof(T) * N);
  vector<T, N> out;
  for (unsigned i = 0; i < N; ++i) out.elements()[i] = value;
  return out;
}
template <class T, unsigned N = native_vector_length_v<T>>
  requires(detail::is_element<T>)
vector<T, N> zeros() {
  detail::charge_move(sizeof(T) * N);
  return {};
}

}  // namespace aie
