// Vectors from and to memory.
#pragma once

#include "aie_api/vector.hpp"

// Banks of data memory: they say where an array lies, which no result depends on.
enum class aie_dm_resource { none, a, b, c, d, stack };
#define __aie_dm_resource_a
#define __aie_dm_resource_b
#define __aie_dm_resource_c
#define __aie_dm_resource_d
#define __aie_dm_resource_stack

namespace aie {

namespace detail {
template <class T>
using plain = std::remove_cv_t<T>;
}

template <unsigned N, aie_dm_resource R = aie_dm_resource::none, class T>
vector<detail::plain<T>, N> load_v(const T* from, detail::Site at = detail::Site::current()) {
  vector<detail::plain<T>, N> out;
  out.load(from, at);
  return out;
}
template <class T>
  requires(detail::is_element<T>)
vector<T, native_vector_length_v<T>> load_v(const T* from,
                                            detail::Site at = detail::Site::current()) {
  return load_v<native_vector_length_v<T>>(from, at);
}
template <aie_dm_resource R = aie_dm_resource::none, class T, unsigned N>
T* store_v(T* to, const vector<T, N>& v, detail::Site at = detail::Site::current()) {
  v.store(to, at);
  return to;
}

// `aligned`: the address is known to be a multiple of so many elements.
template <unsigned N, aie_dm_resource R = aie_dm_resource::none, class T>
vector<detail::plain<T>, N> load_unaligned_v(const T* from, unsigned aligned = 1,
                                             detail::Site at = detail::Site::current()) {
  vector<detail::plain<T>, N> out;
  out.load_unaligned(from, aligned, at);
  return out;
}
template <aie_dm_resource R = aie_dm_resource::none, class T, unsigned N>
T* store_unaligned_v(T* to, const vector<T, N>& v, unsigned aligned = 1,
                     detail::Site at = detail::Site::current()) {
  v.store_unaligned(to, aligned, at);
  return to;
}

// From the multiple of the vector's alignment (in elements, the vector's size by default) at or
// below the address.
template <unsigned N, aie_dm_resource R = aie_dm_resource::none, class T>
vector<detail::plain<T>, N> load_floor_v(const T* from, unsigned aligned = N,
                                         detail::Site at = detail::Site::current()) {
  const std::size_t step = sizeof(T) * aligned;
  const std::size_t past = reinterpret_cast<std::uintptr_t>(from) % step;
  return load_v<N>(reinterpret_cast<const T*>(reinterpret_cast<const std::byte*>(from) - past), at);
}
template <unsigned N, aie_dm_resource R = aie_dm_resource::none, class T>
vector<detail::plain<T>, N> load_floor_bytes_v(const T* from, unsigned aligned_bytes,
                                               detail::Site at = detail::Site::current()) {
  return load_floor_v<N>(from, aligned_bytes / sizeof(T), at);
}

}  // namespace aie
