// readincr, writeincr: scalar access to streams. The vector forms are in aie_adf.hpp.
#pragma once

#include <type_traits>

#include "aiesim/stream.h"

template <class T>
inline T readincr(input_stream<T>* stream) {
  return stream->template read_value<T>();
}
template <class T>
inline T readincr(input_stream<T>* stream, bool& tlast) {
  return stream->template read_value<T>(&tlast);
}
template <class T>
inline void writeincr(output_stream<T>* stream, std::type_identity_t<T> value, bool tlast = false) {
  stream->write_value(value, tlast);
}
inline std::int32_t readincr(input_pktstream* stream) { return stream->read_value<std::int32_t>(); }
inline std::int32_t readincr(input_pktstream* stream, bool& tlast) {
  return stream->read_value<std::int32_t>(&tlast);
}
inline void writeincr(output_pktstream* stream, std::int32_t value, bool tlast = false) {
  stream->write_value(value, tlast);
}

// Access that does not block: `success` says whether there was a word, or room for one.
template <class T>
inline T readincr_nb(input_stream<T>* stream, bool& success) {
  success = stream->ready(sizeof(T));
  return success ? stream->template read_value<T>() : T{};
}
template <class T>
inline T readincr_nb(input_stream<T>* stream, bool& success, bool& tlast) {
  success = stream->ready(sizeof(T));
  return success ? stream->template read_value<T>(&tlast) : T{};
}
template <class T>
inline void writeincr_nb(output_stream<T>* stream, std::type_identity_t<T> value, bool& success) {
  success = stream->ready(sizeof(T));
  if (success) stream->write_value(value);
}

// Packet headers: bits 0..4 hold the packet's id, 12..14 its type, 16..27 source row and column,
// bit 31 makes the number of ones odd.
namespace aiesim {
std::uint32_t packet_header(unsigned type, unsigned id);
// The id that the network gave to the way from this port.
unsigned packet_id(const StreamOut& stream, unsigned index);
unsigned packet_id(const StreamIn& stream, unsigned index);
}  // namespace aiesim

inline void writeHeader(output_pktstream* stream, unsigned type, unsigned id, bool tlast = false) {
  stream->write_word(aiesim::packet_header(type, id), tlast);
}
inline unsigned getPacketid(output_pktstream* stream, unsigned index) {
  return aiesim::packet_id(*stream, index);
}
inline unsigned getPacketid(input_pktstream* stream, unsigned index) {
  return aiesim::packet_id(*stream, index);
}
