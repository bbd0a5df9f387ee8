// Iterators that read and write vectors in arrays and buffers.
#pragma once

#include <cstddef>
#include <iterator>

#include "aie_api/memory.hpp"
#include "aiesim/buffer.h"

namespace aie {

// What an iterator over memory that can be written points to. It holds what it read; assigning to
// it writes.
template <class T, unsigned N>
class vector_ref : public vector<T, N> {
 public:
  using vector_type = vector<T, N>;
  vector_ref(T* at, const detail::Site& site) : at_(at), site_(site) { this->load(at, site); }
  vector_ref(const vector_ref&) = default;
  vector_ref& operator=(const vector<T, N>& v) {
    // It was not read after all.
    aiesim::charge(aiesim::Slot::load,
                   -static_cast<double>((sizeof(v) + 31) / 32) * aiesim::costs().load);
    static_cast<vector<T, N>&>(*this) = v;
    v.store(at_, site_);
    return *this;
  }
  vector_ref& operator=(const vector_ref& other) {
    return *this = static_cast<const vector<T, N>&>(other);
  }

 private:
  T* at_;
  detail::Site site_;
};

namespace detail {

// The memory that an iterator walks in. Of a plain pointer the end is not known.
template <class T>
struct Span {
  T* begin = nullptr;
  T* end = nullptr;
  Site site = Site::current();
};

template <class T>
[[noreturn]] void beyond(const Span<T>& span, const std::type_identity_t<T>* at,
                         std::size_t elements) {
  misuse("an iterator made here goes to elements " + std::to_string(at - span.begin) + " to " +
             std::to_string(at - span.begin + static_cast<std::ptrdiff_t>(elements)) +
             " of a buffer of " + std::to_string(span.end - span.begin) + " (its margin counted)",
         span.site);
}

// Elements one at a time, N == 0, or vectors of N.
template <class T, unsigned N>
decltype(auto) access(const Span<T>& span, T* at) {
  constexpr unsigned elements = N == 0 ? 1 : N;
  if (span.end != nullptr && (at < span.begin || at + elements > span.end)) {
    beyond(span, at, elements);
  }
  if constexpr (N == 0) {
    return (*at);
  } else if constexpr (std::is_const_v<T>) {
    return load_v<N>(at, span.site);
  } else {
    return vector_ref<T, N>(at, span.site);
  }
}

template <class T, unsigned N>
using iterator_value = std::conditional_t<N == 0, std::remove_cv_t<T>,
                                          vector<std::remove_cv_t<T>, N == 0 ? 16 / sizeof(T) : N>>;

}  // namespace detail

// Walks straight on.
template <class T, unsigned N>
class linear_iterator {
  static constexpr std::ptrdiff_t step = N == 0 ? 1 : N;

 public:
  using iterator_category = std::random_access_iterator_tag;
  using value_type = detail::iterator_value<T, N>;
  using difference_type = std::ptrdiff_t;

  linear_iterator() = default;
  linear_iterator(detail::Span<T> span, T* at) : span_(span), at_(at) {}

  decltype(auto) operator*() const { return detail::access<T, N>(span_, at_); }
  decltype(auto) operator[](difference_type n) const { return *(*this + n); }
  linear_iterator& operator+=(difference_type n) {
    at_ += n * step;
    return *this;
  }
  linear_iterator& operator-=(difference_type n) { return *this += -n; }
  linear_iterator& operator++() { return *this += 1; }
  linear_iterator& operator--() { return *this += -1; }
  linear_iterator operator++(int) {
    auto before = *this;
    ++*this;
    return before;
  }
  linear_iterator operator--(int) {
    auto before = *this;
    --*this;
    return before;
  }
  friend linear_iterator operator+(linear_iterator it, difference_type n) { return it += n; }
  friend linear_iterator operator+(difference_type n, linear_iterator it) { return it += n; }
  friend linear_iterator operator-(linear_iterator it, difference_type n) { return it -= n; }
  friend difference_type operator-(const linear_iterator& a, const linear_iterator& b) {
    return (a.at_ - b.at_) / step;
  }
  friend bool operator==(const linear_iterator& a, const linear_iterator& b) {
    return a.at_ == b.at_;
  }
  friend auto operator<=>(const linear_iterator& a, const linear_iterator& b) {
    return a.at_ <=> b.at_;
  }

 private:
  detail::Span<T> span_;
  T* at_ = nullptr;
};

// Goes back to the beginning after the last element, and to the end before the first.
template <class T, unsigned N>
class wrapping_iterator {
  static constexpr std::ptrdiff_t step = N == 0 ? 1 : N;

 public:
  using iterator_category = std::random_access_iterator_tag;
  using value_type = detail::iterator_value<T, N>;
  using difference_type = std::ptrdiff_t;

  wrapping_iterator() = default;
  wrapping_iterator(detail::Span<T> span, T* at) : span_(span), at_(at) {}

  decltype(auto) operator*() const { return detail::access<T, N>(span_, at_); }
  decltype(auto) operator[](difference_type n) const { return *(*this + n); }
  wrapping_iterator& operator+=(difference_type n) {
    const std::ptrdiff_t size = span_.end - span_.begin;
    const std::ptrdiff_t next = (at_ - span_.begin + n * step) % size;
    at_ = span_.begin + (next + size) % size;
    return *this;
  }
  wrapping_iterator& operator-=(difference_type n) { return *this += -n; }
  wrapping_iterator& operator++() { return *this += 1; }
  wrapping_iterator& operator--() { return *this += -1; }
  wrapping_iterator operator++(int) {
    auto before = *this;
    ++*this;
    return before;
  }
  wrapping_iterator operator--(int) {
    auto before = *this;
    --*this;
    return before;
  }
  friend wrapping_iterator operator+(wrapping_iterator it, difference_type n) { return it += n; }
  friend wrapping_iterator operator-(wrapping_iterator it, difference_type n) { return it -= n; }
  friend bool operator==(const wrapping_iterator& a, const wrapping_iterator& b) {
    return a.at_ == b.at_;
  }

 private:
  detail::Span<T> span_;
  T* at_ = nullptr;
};

// Vectors at addresses that are multiples of a number of elements only.
template <class T, unsigned N>
class unaligned_iterator {
 public:
  unaligned_iterator(T* at, unsigned aligned, detail::Site site)
      : at_(at), aligned_(aligned), site_(site) {}

  class Reference {
   public:
    Reference(T* at, unsigned aligned, detail::Site site)
        : at_(at), aligned_(aligned), site_(site) {}
    operator vector<std::remove_cv_t<T>, N>() const {
      return load_unaligned_v<N>(at_, aligned_, site_);
    }
    void operator=(const vector<std::remove_cv_t<T>, N>& v) const {
      store_unaligned_v(at_, v, aligned_, site_);
    }

   private:
    T* at_;
    unsigned aligned_;
    detail::Site site_;
  };
  auto operator*() const {
    if constexpr (std::is_const_v<T>) {
      return load_unaligned_v<N>(at_, aligned_, site_);
    } else {
      return Reference(at_, aligned_, site_);
    }
  }
  unaligned_iterator& operator+=(std::ptrdiff_t n) {
    at_ += n * static_cast<std::ptrdiff_t>(N);
    return *this;
  }
  unaligned_iterator& operator++() { return *this += 1; }
  unaligned_iterator operator++(int) {
    auto before = *this;
    ++*this;
    return before;
  }
  friend bool operator==(const unaligned_iterator& a, const unaligned_iterator& b) {
    return a.at_ == b.at_;
  }

 private:
  T* at_;
  unsigned aligned_;
  detail::Site site_;
};

// Moves by the given numbers of elements in turn, over and over.
template <class T, unsigned Steps>
class pattern_iterator {
 public:
  pattern_iterator(T* at, std::array<int, Steps> steps) : at_(at), steps_(steps) {}
  T& operator*() const { return *at_; }
  pattern_iterator& operator++() {
    at_ += steps_[next_];
    next_ = (next_ + 1) % Steps;
    return *this;
  }
  pattern_iterator operator++(int) {
    auto before = *this;
    ++*this;
    return before;
  }

 private:
  T* at_;
  std::array<int, Steps> steps_;
  unsigned next_ = 0;
};

namespace detail {

template <class B>
struct is_io_buffer : std::false_type {};
template <class T, adf::direction D, class E, class M, bool Async, bool Circular>
struct is_io_buffer<adf::io_buffer<T, D, E, M, Async, Circular>> : std::true_type {};
template <class B>
concept Buffer = is_io_buffer<B>::value;

// The elements of a buffer that is held, const if it is an input.
template <Buffer B>
auto span_of(const B& buffer, const Site& site) {
  using T = std::conditional_t<B::direction_value == adf::direction::in,
                               const typename B::value_type, typename B::value_type>;
  T* begin = buffer.data();
  return Span<T>{begin, begin + buffer.size(), site};
}

template <class T>
concept Memory = !Buffer<std::remove_cv_t<T>>;

}  // namespace detail

// begin_NAME<N>(pointer), begin_NAME<N>(buffer) and their read-only forms.
#define AIESIM_BEGIN(name, cname)                                                             \
  template <unsigned N, aie_dm_resource R = aie_dm_resource::none, class T>                   \
  auto name(T* from, detail::Site at = detail::Site::current()) {                             \
    return linear_iterator<T, N>({from, nullptr, at}, from);                                  \
  }                                                                                           \
  template <unsigned N, aie_dm_resource R = aie_dm_resource::none, detail::Buffer B>          \
  auto name(B& buffer, detail::Site at = detail::Site::current()) {                           \
    const auto span = detail::span_of(buffer, at);                                            \
    return linear_iterator<std::remove_pointer_t<decltype(span.begin)>, N>(span, span.begin); \
  }                                                                                           \
  template <unsigned N, aie_dm_resource R = aie_dm_resource::none, class T>                   \
  auto cname(const T* from, detail::Site at = detail::Site::current()) {                      \
    return linear_iterator<const T, N>({from, nullptr, at}, from);                            \
  }                                                                                           \
  template <unsigned N, aie_dm_resource R = aie_dm_resource::none, detail::Buffer B>          \
  auto cname(B& buffer, detail::Site at = detail::Site::current()) {                          \
    const typename B::value_type* from = buffer.data();                                       \
    return linear_iterator<const typename B::value_type, N>({from, from + buffer.size(), at}, \
                                                            from);                            \
  }
AIESIM_BEGIN(begin_vector, cbegin_vector)
AIESIM_BEGIN(begin_restrict_vector, cbegin_restrict_vector)
#undef AIESIM_BEGIN

#define AIESIM_BEGIN_CIRCULAR(name, cname)                                                      \
  template <unsigned N, aie_dm_resource R = aie_dm_resource::none, class T>                     \
  auto name(T* from, std::size_t size, detail::Site at = detail::Site::current()) {             \
    return wrapping_iterator<T, N>({from, from + size, at}, from);                              \
  }                                                                                             \
  template <unsigned N, std::size_t Size, aie_dm_resource R = aie_dm_resource::none, class T>   \
  auto name(T* from, detail::Site at = detail::Site::current()) {                               \
    return wrapping_iterator<T, N>({from, from + Size, at}, from);                              \
  }                                                                                             \
  template <unsigned N, aie_dm_resource R = aie_dm_resource::none, detail::Buffer B>            \
  auto name(B& buffer, detail::Site at = detail::Site::current()) {                             \
    const auto span = detail::span_of(buffer, at);                                              \
    return wrapping_iterator<std::remove_pointer_t<decltype(span.begin)>, N>(span, span.begin); \
  }                                                                                             \
  template <unsigned N, aie_dm_resource R = aie_dm_resource::none, class T>                     \
  auto cname(const T* from, std::size_t size, detail::Site at = detail::Site::current()) {      \
    return wrapping_iterator<const T, N>({from, from + size, at}, from);                        \
  }                                                                                             \
  template <unsigned N, std::size_t Size, aie_dm_resource R = aie_dm_resource::none, class T>   \
  auto cname(const T* from, detail::Site at = detail::Site::current()) {                        \
    return wrapping_iterator<const T, N>({from, from + Size, at}, from);                        \
  }
AIESIM_BEGIN_CIRCULAR(begin_vector_circular, cbegin_vector_circular)
AIESIM_BEGIN_CIRCULAR(begin_vector_random_circular, cbegin_vector_random_circular)
AIESIM_BEGIN_CIRCULAR(begin_restrict_vector_circular, cbegin_restrict_vector_circular)
#undef AIESIM_BEGIN_CIRCULAR

template <unsigned N, class T>
auto begin_unaligned_vector(T* from, unsigned aligned = 1,
                            detail::Site at = detail::Site::current()) {
  return unaligned_iterator<T, N>(from, aligned, at);
}
template <unsigned N, class T>
auto cbegin_unaligned_vector(const T* from, unsigned aligned = 1,
                             detail::Site at = detail::Site::current()) {
  return unaligned_iterator<const T, N>(from, aligned, at);
}

// Elements one at a time.
template <aie_dm_resource R = aie_dm_resource::none, class T>
  requires(detail::Memory<T>)
auto begin(T* from, detail::Site at = detail::Site::current()) {
  return linear_iterator<T, 0>({from, nullptr, at}, from);
}
template <aie_dm_resource R = aie_dm_resource::none, detail::Buffer B>
auto begin(B& buffer, detail::Site at = detail::Site::current()) {
  const auto span = detail::span_of(buffer, at);
  return linear_iterator<std::remove_pointer_t<decltype(span.begin)>, 0>(span, span.begin);
}
template <aie_dm_resource R = aie_dm_resource::none, class X>
auto cbegin(X&& from, detail::Site at = detail::Site::current()) {
  return begin<R>(std::forward<X>(from), at);
}
template <class T>
auto begin_circular(T* from, std::size_t size, detail::Site at = detail::Site::current()) {
  return wrapping_iterator<T, 0>({from, from + size, at}, from);
}
template <std::size_t Size, class T>
auto begin_circular(T* from, detail::Site at = detail::Site::current()) {
  return wrapping_iterator<T, 0>({from, from + Size, at}, from);
}
template <detail::Buffer B>
auto begin_circular(B& buffer, detail::Site at = detail::Site::current()) {
  const auto span = detail::span_of(buffer, at);
  return wrapping_iterator<std::remove_pointer_t<decltype(span.begin)>, 0>(span, span.begin);
}
template <class T>
auto begin_random_circular(T* from, std::size_t size, detail::Site at = detail::Site::current()) {
  return wrapping_iterator<T, 0>({from, from + size, at}, from);
}
template <detail::Buffer B>
auto begin_random_circular(B& buffer, detail::Site at = detail::Site::current()) {
  return begin_circular(buffer, at);
}
template <class T, class... Steps>
auto begin_pattern(T* from, Steps... steps) {
  return pattern_iterator<T, sizeof...(Steps)>(from, {static_cast<int>(steps)...});
}
template <unsigned Count, class T, class... Steps>
auto begin_pattern(T* from, Steps... steps) {
  static_assert(Count == sizeof...(Steps), "aie::begin_pattern: as many steps as it says");
  return pattern_iterator<T, Count>(from, {static_cast<int>(steps)...});
}

}  // namespace aie
