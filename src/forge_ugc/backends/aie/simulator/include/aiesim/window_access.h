// window_readincr, window_writeincr and their like: scalar access to windows.
#pragma once

#include <cstddef>
#include <cstring>
#include <type_traits>

#include "aiesim/window.h"

template <class T>
inline T window_read(input_window<T>* window) {
  T value;
  std::memcpy(&value, window->at(sizeof(T)), sizeof(T));
  return value;
}
template <class T>
inline T window_readincr(input_window<T>* window) {
  T value = window_read(window);
  window->move(sizeof(T));
  return value;
}
template <class T>
inline void window_readincr(input_window<T>* window, std::type_identity_t<T>& value) {
  value = window_readincr(window);
}
template <class T>
inline void window_write(output_window<T>* window, std::type_identity_t<T> value) {
  std::memcpy(window->at(sizeof(T)), &value, sizeof(T));
}
template <class T>
inline void window_writeincr(output_window<T>* window, std::type_identity_t<T> value) {
  window_write(window, value);
  window->move(sizeof(T));
}

// Moves by elements, on windows of both directions.
template <template <class> class Window, class T>
  requires(std::is_base_of_v<aiesim::WindowPort, Window<T>>)
inline void window_incr(Window<T>* window, int count) {
  window->move(static_cast<std::ptrdiff_t>(sizeof(T)) * count);
}
template <template <class> class Window, class T>
  requires(std::is_base_of_v<aiesim::WindowPort, Window<T>>)
inline void window_decr(Window<T>* window, int count) {
  window->move(-static_cast<std::ptrdiff_t>(sizeof(T)) * count);
}
// Elements of the block, the margin left out.
template <template <class> class Window, class T>
  requires(std::is_base_of_v<aiesim::WindowPort, Window<T>>)
inline unsigned window_size(Window<T>* window) {
  return static_cast<unsigned>(window->size_bytes() / sizeof(T));
}
inline void window_acquire(aiesim::WindowPort* window) {
  window->acquire();
  window->rewind();
}
inline void window_release(aiesim::WindowPort* window) { window->release(); }
