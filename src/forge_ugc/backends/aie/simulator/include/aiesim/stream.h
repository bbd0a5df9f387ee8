// Stream ports of kernels: 32-bit words that block, carry a time stamp and may carry TLAST.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace aiesim {

class WordReader;  // runtime: one reading end of a net
class WordWriter;  // runtime: one writing end, broadcast to all its readers

// The reading end of a stream. Values narrower than a word are taken from the word byte by byte,
// lowest first; the rest of a word stays for the next read.
class StreamIn {
 public:
  StreamIn() = default;
  StreamIn(const StreamIn&) = delete;
  StreamIn& operator=(const StreamIn&) = delete;

  // One word; blocks while the FIFO is empty. `last` receives its TLAST.
  std::uint32_t read_word(bool* last = nullptr);
  // `bytes` bytes in order; `last` receives the TLAST of the last word that was touched.
  void read(void* data, std::size_t bytes, bool* last = nullptr);
  // Whether `bytes` bytes can be read without blocking. Lets the other kernels run if not.
  bool ready(std::size_t bytes);

  template <class T>
  T read_value(bool* last = nullptr) {
    static_assert(std::is_trivially_copyable_v<T>);
    T value;
    read(&value, sizeof(T), last);
    return value;
  }

  void attach(WordReader* reader) noexcept { reader_ = reader; }
  WordReader* reader() const noexcept { return reader_; }

 private:
  WordReader* reader_ = nullptr;
  std::uint32_t rest_ = 0;       // bytes of a started word, next one lowest
  std::uint8_t rest_bytes_ = 0;  // 0..3
  bool rest_last_ = false;
};

// The writing end of a stream. Values narrower than a word are gathered until it is full.
class StreamOut {
 public:
  StreamOut() = default;
  StreamOut(const StreamOut&) = delete;
  StreamOut& operator=(const StreamOut&) = delete;

  // One word; blocks while a FIFO of any reader is full.
  void write_word(std::uint32_t word, bool last = false);
  // `bytes` bytes in order; `last` marks the word that holds the last one, and sends it.
  void write(const void* data, std::size_t bytes, bool last = false);
  // Whether `bytes` bytes can be written without blocking. Lets the other kernels run if not.
  bool ready(std::size_t bytes);

  template <class T>
  void write_value(const T& value, bool last = false) {
    static_assert(std::is_trivially_copyable_v<T>);
    write(&value, sizeof(T), last);
  }

  // Bytes of a word that is not yet full.
  unsigned pending_bytes() const noexcept { return rest_bytes_; }
  void attach(WordWriter* writer) noexcept { writer_ = writer; }
  WordWriter* writer() const noexcept { return writer_; }

 private:
  WordWriter* writer_ = nullptr;
  std::uint32_t rest_ = 0;
  std::uint8_t rest_bytes_ = 0;
};

// Stream ports of the running kernel by their number, for code that names no port (`get_ss`).
StreamIn& stream_in(unsigned number);
StreamOut& stream_out(unsigned number);

}  // namespace aiesim

template <class T>
struct input_stream : aiesim::StreamIn {
  using value_type = T;
};

template <class T>
struct output_stream : aiesim::StreamOut {
  using value_type = T;
};

// Packet streams carry 32-bit words, the first of a packet its header, the last one TLAST.
struct input_pktstream : aiesim::StreamIn {
  using value_type = std::int32_t;
};
struct output_pktstream : aiesim::StreamOut {
  using value_type = std::int32_t;
};
