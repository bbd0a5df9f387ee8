// aie::accum: wide lanes that products are added up in.
#pragma once

#include "aie_api/vector.hpp"

namespace aie {

template <class Tag, unsigned N>
class alignas(16) accum {
  static_assert(detail::is_accum_size<Tag, N>(),
                "aie::accum: the number of lanes is a power of two, 4 (2 if complex) to 128");
  static_assert(detail::is_aie1 || Tag::bits <= 64,
                "aie::accum: accumulators of AIE-ML have at most 64 bits (acc64, cacc64)");

 public:
  using value_type = Tag;
  using lane_type = detail::lane<Tag>;
  using part_type = detail::part<lane_type>;
  using Site = detail::Site;
  static constexpr unsigned native_bits = detail::lane_of<Tag>::native_bits;
  static constexpr unsigned parts = Tag::is_complex ? 2 * N : N;

  accum() = default;
  template <class T>
  explicit accum(const vector<T, N>& v, int shift = 0) {
    from_vector(v, shift);
  }
  // Tags of the same lanes are different names of one accumulator.
  template <class Other>
    requires(!std::is_same_v<Other, Tag> &&
             std::is_same_v<detail::lane<Other>, detail::lane<Tag>> &&
             detail::lane_of<Other>::native_bits == native_bits)
  accum(const accum<Other, N>& other) {
    std::memcpy(static_cast<void*>(lanes_), other.lanes(), sizeof(lanes_));
  }

  static constexpr unsigned size() { return N; }
  static constexpr unsigned value_bits() { return native_bits; }
  static constexpr unsigned accum_bits() { return native_bits; }
  static constexpr unsigned bits() { return native_bits * parts; }
  static constexpr unsigned memory_bits() { return native_bits == 48 ? 64 * parts : bits(); }
  static constexpr bool is_complex() { return Tag::is_complex; }
  static constexpr bool is_real() { return !Tag::is_complex; }
  static constexpr bool is_floating_point() { return Tag::is_floating_point; }

  // Lanes without their cost, for the library itself. They are not yet wrapped to their width.
  lane_type* lanes() { return lanes_; }
  const lane_type* lanes() const { return lanes_; }

  // Each lane is its element times 2^shift.
  template <class T>
  void from_vector(const vector<T, N>& v, int shift = 0) {
    static_assert(detail::is_complex<T> == Tag::is_complex || Tag::is_complex,
                  "aie::accum::from_vector: a complex vector needs a complex accumulator");
    aiesim::charge(aiesim::Slot::load, convert_issues(sizeof(T)) * aiesim::costs().ups);
    if (shift < 0 || shift > 63) detail::bad_shift(shift);
    for (unsigned i = 0; i < N; ++i) {
      lanes_[i] =
          shifted(detail::as_lane<lane_type>(detail::widen<part_type>(v.elements()[i])), shift);
    }
  }

  // Shift, round and saturate in the modes of the tile.
  template <class T>
  vector<T, N> to_vector(int shift = 0) const {
    static_assert(detail::is_complex<T> == Tag::is_complex,
                  "aie::accum::to_vector: complex accumulators become complex vectors, real ones "
                  "real vectors");
    static_assert(detail::is_float<T> == Tag::is_floating_point,
                  "aie::accum::to_vector: float accumulators become float vectors, integers "
                  "integers; see to_fixed and to_float");
    aiesim::charge(aiesim::Slot::move, convert_issues(sizeof(T)) * aiesim::costs().srs);
    aiesim::tile().end_chain();
    vector<T, N> out;
    auto* to = reinterpret_cast<detail::part<T>*>(out.elements());
    const auto* from = reinterpret_cast<const part_type*>(lanes_);
    if constexpr (Tag::is_floating_point) {
      for (unsigned i = 0; i < parts; ++i) to[i] = static_cast<detail::part<T>>(from[i]);
    } else {
      detail::narrow_lanes<native_bits>(to, from, parts, detail::narrowing(shift));
    }
    return out;
  }
  template <class T>
  vector<T, N> to_vector_sign(bool is_signed, int shift = 0) const {
    if (is_signed) return to_vector<T>(shift);
    using Unsigned = std::make_unsigned_t<T>;
    vector<T, N> out;
    const vector<Unsigned, N> v = to_vector<Unsigned>(shift);
    std::memcpy(out.elements(), v.elements(), sizeof(out));
    return out;
  }

  template <unsigned M>
  accum<Tag, M> extract(unsigned index, Site at = Site::current()) const {
    static_assert(M <= N && N % M == 0, "aie::accum::extract: a part is not larger than its whole");
    if (index >= N / M)
      detail::out_of_range("extract of a part of an accumulator", index, N / M, at);
    accum<Tag, M> out;
    std::memcpy(static_cast<void*>(out.lanes()), lanes_ + index * M, sizeof(lane_type) * M);
    return out;
  }
  template <unsigned M>
  accum& insert(unsigned index, const accum<Tag, M>& part, Site at = Site::current()) {
    static_assert(M <= N && N % M == 0, "aie::accum::insert: a part is not larger than its whole");
    if (index >= N / M)
      detail::out_of_range("insert of a part of an accumulator", index, N / M, at);
    std::memcpy(static_cast<void*>(lanes_ + index * M), part.lanes(), sizeof(lane_type) * M);
    return *this;
  }
  template <unsigned M>
  accum<Tag, M> grow(unsigned index = 0, Site at = Site::current()) const {
    accum<Tag, M> out;
    out.insert(index, *this, at);
    return out;
  }
  template <unsigned M>
  std::array<accum<Tag, M>, N / M> split() const {
    std::array<accum<Tag, M>, N / M> out;
    for (unsigned i = 0; i < N / M; ++i) out[i] = extract<M>(i);
    return out;
  }
  // Lanes of the same width under another tag.
  template <class To>
  auto cast_to() const {
    static_assert(detail::lane_of<To>::native_bits == native_bits,
                  "aie::accum::cast_to: accumulators of the same width");
    constexpr unsigned size = parts / (To::is_complex ? 2 : 1);
    accum<To, size> out;
    static_assert(sizeof(out) == sizeof(*this));
    std::memcpy(static_cast<void*>(out.lanes()), lanes_, sizeof(lanes_));
    return out;
  }
  const accum& to_native() const { return *this; }

 private:
  // Wide results and wide lanes pass eight at a time, narrow ones sixteen.
  static double convert_issues(std::size_t element_bytes) {
    constexpr bool wide_lanes = native_bits > 48;
    const unsigned at_once = wide_lanes || element_bytes > 2 ? 8 : 16;
    return static_cast<double>((parts + at_once - 1) / at_once);
  }
  static lane_type shifted(lane_type value, int shift) {
    if constexpr (Tag::is_floating_point) {
      return value;
    } else if constexpr (Tag::is_complex) {
      return {shifted_part(value.real, shift), shifted_part(value.imag, shift)};
    } else {
      return shifted_part(value, shift);
    }
  }
  static part_type shifted_part(part_type value, int shift) {
    return static_cast<part_type>(static_cast<detail::unsigned_lane<part_type>>(value) << shift);
  }

  lane_type lanes_[N]{};
};

namespace detail {

template <class A>
struct is_accum_type : std::false_type {};
template <class Tag, unsigned N>
struct is_accum_type<accum<Tag, N>> : std::true_type {};

}  // namespace detail

template <class A>
concept Accum = detail::is_accum_type<std::remove_cvref_t<A>>::value;

template <class Tag, class T, unsigned N>
accum<Tag, N> from_vector(const vector<T, N>& v, int shift = 0) {
  return accum<Tag, N>(v, shift);
}
template <class T, class Tag, unsigned N>
vector<T, N> to_vector(const accum<Tag, N>& acc, int shift = 0) {
  return acc.template to_vector<T>(shift);
}
template <class Tag, unsigned N, class... Rest>
auto concat(const accum<Tag, N>& first, const Rest&... rest) {
  accum<Tag, N * (1 + sizeof...(Rest))> out;
  unsigned index = 0;
  out.insert(index++, first);
  (out.insert(index++, rest), ...);
  return out;
}
template <class Tag, unsigned N>
  requires(!detail::is_element<Tag>)
accum<Tag, N> zeros() {
  detail::charge_move(64);
  return {};
}

}  // namespace aie
