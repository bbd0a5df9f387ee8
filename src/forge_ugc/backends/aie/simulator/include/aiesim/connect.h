// connect: nets between ports, in all the ways they are spelled.
#pragma once

#include <source_location>
#include <type_traits>

#include "aiesim/ports.h"

namespace adf {

struct stream {};
struct pktstream {};
struct cascade {};
struct parameter;
template <std::size_t Bytes, std::size_t MarginBytes = 0>
struct window {};
struct buffer {};

}  // namespace adf

namespace aiesim {

template <class T>
struct TransportOf {
  static_assert(!sizeof(T*),
                "the simulator does not know this kind of connection; known are stream, window, "
                "pktstream, cascade and parameter");
};
template <>
struct TransportOf<adf::stream> {
  static constexpr Transport value{PortKind::stream, 0, 0};
};
template <>
struct TransportOf<adf::pktstream> {
  static constexpr Transport value{PortKind::packet, 0, 0};
};
template <>
struct TransportOf<adf::cascade> {
  static constexpr Transport value{PortKind::cascade, 0, 0};
};
template <>
struct TransportOf<adf::parameter> {
  static constexpr Transport value{PortKind::parameter, 0, 0};
};
template <std::size_t Bytes, std::size_t Margin>
struct TransportOf<adf::window<Bytes, Margin>> {
  static constexpr Transport value{PortKind::window, Bytes, Margin};
};
template <>
struct TransportOf<adf::buffer> {
  static constexpr Transport value{PortKind::buffer, 0, 0};
};

// connect<>, connect<A> for both ends, connect<A, B> for source and sink.
template <class... Kinds>
struct Transports {
  static_assert(sizeof...(Kinds) == 0, "connect takes at most two kinds of connection");
  static constexpr Transport source{}, sink{};
};
template <class A>
struct Transports<A> {
  static constexpr Transport source = TransportOf<A>::value, sink = TransportOf<A>::value;
};
template <class A, class B>
struct Transports<A, B> {
  static constexpr Transport source = TransportOf<A>::value, sink = TransportOf<B>::value;
};

template <adf::direction D>
PortNode* node_of(const adf::port<D>& p) {
  return p.node();
}

template <class T>
concept AnyPort = requires(T& p) { node_of(p); };

}  // namespace aiesim

namespace adf {

template <class... Kinds>
class connect {
 public:
  connect() = default;  // assigned later

  template <aiesim::AnyPort A, aiesim::AnyPort B>
  connect(A&& from, B&& to, std::source_location at = std::source_location::current())
      : node_(aiesim::new_net(aiesim::node_of(from), aiesim::node_of(to),
                              aiesim::Transports<Kinds...>::source,
                              aiesim::Transports<Kinds...>::sink, aiesim::place_of(at))) {}

  // A look-up table: its values lie in the kernel's own memory already.
  template <class B>
  connect(const parameter&, B&&) {}

  aiesim::NetNode* node() const noexcept { return node_; }

 private:
  aiesim::NetNode* node_ = nullptr;
};

template <class A, class B>
connect(A&&, B&&) -> connect<>;
template <class A, class B>
connect(A&&, B&&, std::source_location) -> connect<>;

// A global array that a kernel's source also knows.
struct parameter {
  template <class T>
  static parameter array(T&) {
    return {};
  }
};

}  // namespace adf
