// What each parameter type of a kernel's signature is, and the argument that it gets.
#pragma once

#include <type_traits>

#include "aiesim/model.h"
#include "aiesim/types.h"
#include "aiesim/window.h"

namespace aiesim {

template <class T>
constexpr Element element_of() {
  if constexpr (std::is_same_v<T, cint16>) return Element::ci16;
  if constexpr (std::is_same_v<T, cint32>) return Element::ci32;
  if constexpr (std::is_same_v<T, cfloat>) return Element::cf32;
  if constexpr (std::is_same_v<T, bfloat16>) return Element::bf16;
  if constexpr (std::is_same_v<T, float>) return Element::f32;
  if constexpr (std::is_integral_v<T>) {
    constexpr bool is_signed = std::is_signed_v<T>;
    if constexpr (sizeof(T) == 1) return is_signed ? Element::i8 : Element::u8;
    if constexpr (sizeof(T) == 2) return is_signed ? Element::i16 : Element::u16;
    if constexpr (sizeof(T) == 4) return is_signed ? Element::i32 : Element::u32;
    return is_signed ? Element::i64 : Element::u64;
  }
  return Element::opaque;
}

template <class T>
constexpr std::size_t bytes_of() {
  if constexpr (requires { sizeof(T); }) {
    return sizeof(T);
  } else {
    return 4;
  }
}

inline void describe_port(PortNode& node, PortKind kind, Element element, std::size_t bytes) {
  node.kind = kind;
  node.element = element;
  node.element_bytes = bytes;
}

// A parameter type that no specialisation knows is refused where the kernel is created.
template <class A>
struct Argument {
  static_assert(!sizeof(A*),
                "the simulator does not know this parameter type of a kernel; known are pointers "
                "to streams, windows and cascades, references to buffers, and run-time parameters");
};

template <class T>
struct Argument<input_stream<T>*> {
  static constexpr adf::direction direction = adf::direction::in;
  input_stream<T> port;
  void describe(PortNode& node) {
    describe_port(node, PortKind::stream, element_of<T>(), bytes_of<T>());
    node.stream_in = &port;
  }
  input_stream<T>* get() { return &port; }
};

template <class T>
struct Argument<output_stream<T>*> {
  static constexpr adf::direction direction = adf::direction::out;
  output_stream<T> port;
  void describe(PortNode& node) {
    describe_port(node, PortKind::stream, element_of<T>(), bytes_of<T>());
    node.stream_out = &port;
  }
  output_stream<T>* get() { return &port; }
};

template <>
struct Argument<input_pktstream*> {
  static constexpr adf::direction direction = adf::direction::in;
  input_pktstream port;
  void describe(PortNode& node) {
    describe_port(node, PortKind::packet, Element::i32, 4);
    node.stream_in = &port;
  }
  input_pktstream* get() { return &port; }
};

template <>
struct Argument<output_pktstream*> {
  static constexpr adf::direction direction = adf::direction::out;
  output_pktstream port;
  void describe(PortNode& node) {
    describe_port(node, PortKind::packet, Element::i32, 4);
    node.stream_out = &port;
  }
  output_pktstream* get() { return &port; }
};

template <class T>
struct Argument<input_cascade<T>*> {
  static constexpr adf::direction direction = adf::direction::in;
  input_cascade<T> port;
  void describe(PortNode& node) {
    describe_port(node, PortKind::cascade, Element::opaque, 0);
    node.cascade_in = &port;
  }
  input_cascade<T>* get() { return &port; }
};

template <class T>
struct Argument<output_cascade<T>*> {
  static constexpr adf::direction direction = adf::direction::out;
  output_cascade<T> port;
  void describe(PortNode& node) {
    describe_port(node, PortKind::cascade, Element::opaque, 0);
    node.cascade_out = &port;
  }
  output_cascade<T>* get() { return &port; }
};

template <class T>
struct Argument<input_window<T>*> {
  static constexpr adf::direction direction = adf::direction::in;
  input_window<T> port;
  void describe(PortNode& node) {
    describe_port(node, PortKind::window, element_of<T>(), bytes_of<T>());
    node.buffer = &port;
  }
  input_window<T>* get() {
    port.rewind();
    return &port;
  }
};

template <class T>
struct Argument<output_window<T>*> {
  static constexpr adf::direction direction = adf::direction::out;
  output_window<T> port;
  void describe(PortNode& node) {
    describe_port(node, PortKind::window, element_of<T>(), bytes_of<T>());
    node.buffer = &port;
  }
  output_window<T>* get() {
    port.rewind();
    return &port;
  }
};

template <class T, adf::direction D, class E, class M, bool Async, bool Circular>
struct Argument<adf::io_buffer<T, D, E, M, Async, Circular>&> {
  using Buffer = adf::io_buffer<T, D, E, M, Async, Circular>;
  static constexpr adf::direction direction = D;
  Buffer port;
  void describe(PortNode& node) {
    describe_port(node, PortKind::buffer, element_of<T>(), sizeof(T));
    node.elements = E::elements;
    node.margin_elements = M::elements;
    node.async = Async;
    node.buffer = &port;
  }
  Buffer& get() { return port; }
};

// Run-time parameters: values and constant arrays go in, references come out again.
template <class T>
  requires(std::is_arithmetic_v<T> || (std::is_class_v<T> && std::is_trivially_copyable_v<T>))
struct Argument<T> {
  static constexpr adf::direction direction = adf::direction::in;
  T value{};
  void describe(PortNode& node) {
    describe_port(node, PortKind::parameter, element_of<T>(), sizeof(T));
    node.parameter = {&value, sizeof(T)};
  }
  T get() { return value; }
};

template <class T, std::size_t N>
struct Argument<const T (&)[N]> {
  static constexpr adf::direction direction = adf::direction::in;
  alignas(64) T value[N]{};
  void describe(PortNode& node) {
    describe_port(node, PortKind::parameter, element_of<T>(), sizeof(T));
    node.parameter = {value, sizeof(value)};
  }
  const T (&get()) [N] { return value; }
};

template <class T, std::size_t N>
struct Argument<T (&)[N]> {
  static constexpr adf::direction direction = adf::direction::inout;
  alignas(64) T value[N]{};
  void describe(PortNode& node) {
    describe_port(node, PortKind::parameter, element_of<T>(), sizeof(T));
    node.parameter = {value, sizeof(value)};
  }
  T (&get()) [N] { return value; }
};

template <class T>
  requires(std::is_arithmetic_v<T> || std::is_same_v<T, cint16> || std::is_same_v<T, cint32> ||
           std::is_same_v<T, cfloat>)
struct Argument<T&> {
  static constexpr adf::direction direction = adf::direction::inout;
  T value{};
  void describe(PortNode& node) {
    describe_port(node, PortKind::parameter, element_of<T>(), sizeof(T));
    node.parameter = {&value, sizeof(T)};
  }
  T& get() { return value; }
};

template <class T>
struct Argument<const T&> : Argument<T> {
  const T& get() { return this->value; }
};

}  // namespace aiesim
