// Vectors and accumulators through the ports of kernels.
#pragma once

#include "aie_api/accum.hpp"
#include "aie_api/memory.hpp"
#include "aiesim/cascade.h"
#include "aiesim/stream.h"
#include "aiesim/window.h"

// Which of the two stream ports of a tile carries the access; no result depends on it.
enum class aie_stream { a, b };
enum class aie_stream_resource_in { a, b };
enum class aie_stream_resource_out { a, b };

// Streams: N elements in order, four bytes a cycle.
template <unsigned N, auto Resource = 0, class T>
aie::vector<T, N> readincr_v(input_stream<T>* stream) {
  aie::vector<T, N> out;
  stream->read(out.elements(), sizeof(out));
  return out;
}
template <unsigned N, auto Resource = 0, class T>
aie::vector<T, N> readincr_v(input_stream<T>* stream, bool& tlast) {
  aie::vector<T, N> out;
  stream->read(out.elements(), sizeof(out), &tlast);
  return out;
}
template <auto Resource = 0, class T, unsigned N>
void writeincr(output_stream<T>* stream, const aie::vector<T, N>& v, bool tlast = false) {
  stream->write(v.elements(), sizeof(v), tlast);
}
template <unsigned N, auto Resource = 0, class T>
void writeincr_v(output_stream<T>* stream, const aie::vector<T, N>& v, bool tlast = false) {
  stream->write(v.elements(), sizeof(v), tlast);
}

// Cascades: accumulators, 384 bits a cycle on AIE and 512 on AIE-ML.
namespace aie::detail {
template <class Tag>
struct Beat {
  static constexpr unsigned part_bits =
      lane_of<Tag>::native_bits == 80 ? 96 : lane_of<Tag>::native_bits;
  static constexpr unsigned width = is_aie1 ? 384 : 512;
  static constexpr unsigned lanes = width / part_bits / (Tag::is_complex ? 2 : 1);
  static constexpr std::size_t bytes = sizeof(lane<Tag>) * lanes;
};
}  // namespace aie::detail

template <unsigned N, class Tag>
aie::accum<Tag, N> readincr_v(input_cascade<Tag>* cascade) {
  using Beat = aie::detail::Beat<Tag>;
  aie::accum<Tag, N> out;
  auto* to = reinterpret_cast<std::byte*>(out.lanes());
  for (std::size_t done = 0; done < sizeof(out); done += Beat::bytes) {
    cascade->read(to + done, sizeof(out) - done < Beat::bytes ? sizeof(out) - done : Beat::bytes);
  }
  return out;
}
template <class Tag, class Other, unsigned N>
void writeincr(output_cascade<Tag>* cascade, const aie::accum<Other, N>& value) {
  using Beat = aie::detail::Beat<Tag>;
  const aie::accum<Tag, N> acc(value);
  const auto* from = reinterpret_cast<const std::byte*>(acc.lanes());
  for (std::size_t done = 0; done < sizeof(acc); done += Beat::bytes) {
    cascade->write(from + done,
                   sizeof(acc) - done < Beat::bytes ? sizeof(acc) - done : Beat::bytes);
  }
}
// Cascades of vectors.
template <unsigned N, class T>
  requires(aie::detail::is_element<T>)
aie::vector<T, N> readincr_v(input_cascade<T>* cascade) {
  constexpr std::size_t beat = aie::detail::is_aie1 ? 32 : 64;
  aie::vector<T, N> out;
  auto* to = reinterpret_cast<std::byte*>(out.elements());
  for (std::size_t done = 0; done < sizeof(out); done += beat) {
    cascade->read(to + done, sizeof(out) - done < beat ? sizeof(out) - done : beat);
  }
  return out;
}
template <class T, unsigned N>
void writeincr(output_cascade<T>* cascade, const aie::vector<T, N>& v) {
  constexpr std::size_t beat = aie::detail::is_aie1 ? 32 : 64;
  const auto* from = reinterpret_cast<const std::byte*>(v.elements());
  for (std::size_t done = 0; done < sizeof(v); done += beat) {
    cascade->write(from + done, sizeof(v) - done < beat ? sizeof(v) - done : beat);
  }
}

// Windows.
template <unsigned N, class T>
aie::vector<T, N> window_read_v(input_window<T>* window) {
  aie::vector<T, N> out;
  std::memcpy(static_cast<void*>(out.elements()), window->at(sizeof(out)), sizeof(out));
  aie::detail::charge_load(sizeof(out));
  return out;
}
template <unsigned N, class T>
aie::vector<T, N> window_readincr_v(input_window<T>* window) {
  const aie::vector<T, N> out = window_read_v<N>(window);
  window->move(sizeof(out));
  return out;
}
template <unsigned N, class T>
aie::vector<T, N> window_readdecr_v(input_window<T>* window) {
  const aie::vector<T, N> out = window_read_v<N>(window);
  window->move(-static_cast<std::ptrdiff_t>(sizeof(out)));
  return out;
}
template <class T, unsigned N>
void window_write(output_window<T>* window, const aie::vector<T, N>& v) {
  std::memcpy(window->at(sizeof(v)), v.elements(), sizeof(v));
  aie::detail::charge_store(sizeof(v));
}
template <class T, unsigned N>
void window_writeincr(output_window<T>* window, const aie::vector<T, N>& v) {
  window_write(window, v);
  window->move(sizeof(v));
}
template <class T, unsigned N>
void window_readincr(input_window<T>* window, aie::vector<T, N>& v) {
  v = window_readincr_v<N>(window);
}
template <unsigned N, template <class> class Window, class T>
  requires(std::is_base_of_v<aiesim::WindowPort, Window<T>>)
void window_incr_v(Window<T>* window, int count) {
  window->move(static_cast<std::ptrdiff_t>(sizeof(T) * N) * count);
}
template <unsigned N, template <class> class Window, class T>
  requires(std::is_base_of_v<aiesim::WindowPort, Window<T>>)
void window_decr_v(Window<T>* window, int count) {
  window->move(-static_cast<std::ptrdiff_t>(sizeof(T) * N) * count);
}
