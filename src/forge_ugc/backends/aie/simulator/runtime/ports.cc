// What the port classes of the kernel API do: they hand over to the channels of the running actor.
#include "aiesim/buffer.h"
#include "aiesim/cascade.h"
#include "aiesim/stream.h"
#include "aiesim/stream_access.h"
#include "aiesim/window.h"
#include "beats.h"
#include "blocks.h"
#include "kernels.h"
#include "words.h"

namespace aiesim {

namespace {

Actor& running(const char* what) {
  Actor* actor = engine().running();
  if (actor == nullptr) fail(std::string(what) + " outside of a kernel of a running graph");
  return *actor;
}

[[noreturn]] void unconnected(const char* what) {
  fail(std::string(what) + " is not connected in the graph");
}

}  // namespace

std::uint32_t StreamIn::read_word(bool* last) {
  std::uint32_t word;
  read(&word, sizeof(word), last);
  return word;
}

void StreamIn::read(void* data, std::size_t bytes, bool* last) {
  if (reader_ == nullptr) unconnected("a stream that the kernel reads");
  Actor& actor = running("a stream was read");
  auto* to = static_cast<std::byte*>(data);
  if (rest_bytes_ == 0) {
    for (; bytes >= 4; bytes -= 4, to += 4) {
      const WordReader::Word word = reader_->take(actor);
      std::memcpy(to, &word.bits, 4);
      rest_last_ = word.last;
    }
  }
  for (; bytes > 0; --bytes, ++to) {
    if (rest_bytes_ == 0) {
      const WordReader::Word word = reader_->take(actor);
      rest_ = word.bits, rest_last_ = word.last, rest_bytes_ = 4;
    }
    *to = static_cast<std::byte>(rest_ & 0xff);
    rest_ >>= 8;
    --rest_bytes_;
  }
  if (last != nullptr) *last = rest_last_ && rest_bytes_ == 0;
}

bool StreamIn::ready(std::size_t bytes) {
  if (reader_ == nullptr) unconnected("a stream that the kernel reads");
  Actor& actor = running("a stream was read");
  const std::size_t words = bytes <= rest_bytes_ ? 0 : (bytes - rest_bytes_ + 3) / 4;
  if (reader_->fill() >= words) return true;
  actor.tile.wait_until(actor.tile.now() + 1);
  engine().yield();
  return reader_->fill() >= words;
}

void StreamOut::write_word(std::uint32_t word, bool last) { write(&word, sizeof(word), last); }

void StreamOut::write(const void* data, std::size_t bytes, bool last) {
  if (writer_ == nullptr) unconnected("a stream that the kernel writes");
  Actor& actor = running("a stream was written");
  const auto* from = static_cast<const std::byte*>(data);
  if (rest_bytes_ == 0) {
    for (; bytes >= 4; bytes -= 4, from += 4) {
      std::uint32_t word;
      std::memcpy(&word, from, 4);
      writer_->put(actor, word, last && bytes == 4);
    }
  }
  for (; bytes > 0; --bytes, ++from) {
    rest_ |= static_cast<std::uint32_t>(*from) << (8 * rest_bytes_);
    if (++rest_bytes_ == 4 || (last && bytes == 1)) {
      writer_->put(actor, rest_, last && bytes == 1);
      rest_ = 0, rest_bytes_ = 0;
    }
  }
}

bool StreamOut::ready(std::size_t bytes) {
  if (writer_ == nullptr) unconnected("a stream that the kernel writes");
  Actor& actor = running("a stream was written");
  if (rest_bytes_ + bytes < 4 || writer_->room((rest_bytes_ + bytes) / 4)) return true;
  actor.tile.wait_until(actor.tile.now() + 1);
  engine().yield();
  return writer_->room((rest_bytes_ + bytes) / 4);
}

void CascadeIn::read(void* lanes, std::size_t bytes) {
  if (reader_ == nullptr) unconnected("the cascade that the kernel reads");
  reader_->take(running("the cascade was read"), lanes, bytes);
}

void CascadeOut::write(const void* lanes, std::size_t bytes) {
  if (writer_ == nullptr) unconnected("the cascade that the kernel writes");
  writer_->reader->put(running("the cascade was written"), lanes, bytes);
}

void BufferPort::acquire() {
  if (held()) fail("a buffer was acquired that the kernel holds already");
  Actor& actor = running("a buffer was acquired");
  if (reader_ != nullptr) {
    begin_ = reader_->acquire(actor);
  } else if (writer_ != nullptr) {
    begin_ = writer_->acquire(actor);
  } else {
    unconnected("a buffer of the kernel");
  }
}

void BufferPort::release() {
  if (!held()) fail("a buffer was released that the kernel does not hold");
  Actor& actor = running("a buffer was released");
  begin_ = nullptr;
  if (reader_ != nullptr) {
    reader_->release(actor);
  } else {
    writer_->release(actor);
  }
}

void BufferPort::attach(BlockReader* reader, std::size_t size, std::size_t margin) noexcept {
  reader_ = reader, size_bytes_ = size, margin_bytes_ = margin;
}

void BufferPort::attach(BlockWriter* writer, std::size_t size) noexcept {
  writer_ = writer, size_bytes_ = size;
}

void BufferPort::not_held() const {
  fail("a buffer was used while the kernel does not hold it; acquire it first");
}

void WindowPort::past_end(std::size_t bytes) const {
  fail("an access of " + std::to_string(bytes) + " bytes at byte " + std::to_string(position_) +
       " of a window goes past its end; window and margin hold " + std::to_string(bytes_total()) +
       " bytes");
}

StreamIn& stream_in(unsigned number) {
  PortNode* port = running_port(adf::direction::in, PortKind::stream, number);
  return *port->stream_in;
}

StreamOut& stream_out(unsigned number) {
  PortNode* port = running_port(adf::direction::out, PortKind::stream, number);
  return *port->stream_out;
}

CascadeIn& cascade_in() {
  return *running_port(adf::direction::in, PortKind::cascade, 0)->cascade_in;
}

CascadeOut& cascade_out() {
  return *running_port(adf::direction::out, PortKind::cascade, 0)->cascade_out;
}

std::uint32_t packet_header(unsigned type, unsigned id) {
  const std::uint32_t bits = (id & 0x1f) | ((type & 7) << 12) | 0x0fff0000u;
  return __builtin_parity(bits) ? bits : bits | 0x80000000u;
}

unsigned packet_id(const StreamOut& stream, unsigned index) {
  if (stream.writer() == nullptr) unconnected("a packet stream");
  const auto& readers = stream.writer()->readers;
  if (index >= readers.size()) fail("getPacketid: the stream has no such way");
  return readers[index]->packet_id < 0 ? index : static_cast<unsigned>(readers[index]->packet_id);
}

unsigned packet_id(const StreamIn& stream, unsigned) {
  if (stream.reader() == nullptr) unconnected("a packet stream");
  return stream.reader()->packet_id < 0 ? 0 : static_cast<unsigned>(stream.reader()->packet_id);
}

}  // namespace aiesim
