// What moves data beside the kernels: DMAs between streams and buffers, GMIO, packet switches.
#pragma once

#include <deque>
#include <vector>

#include "blocks.h"
#include "engine.h"
#include "words.h"

namespace aiesim {

// Fills blocks of memory from a stream. Of packets, the header is left out.
class StreamToBuffer final : public Actor {
 public:
  StreamToBuffer(std::string name, std::size_t block_bytes, bool packets);
  void body() override;
  WordReader* from = nullptr;
  BlockWriter to;

 private:
  bool packets_;
};

// Sends blocks of memory on a stream, each as one packet if `packet_id` is given.
class BufferToStream final : public Actor {
 public:
  BufferToStream(std::string name, int packet_id);
  void body() override;
  BlockReader* from = nullptr;
  WordWriter to;

 private:
  int packet_id_;
};

// Memory of the host to a stream.
class GmioSource final : public Actor {
 public:
  using Actor::Actor;
  void body() override;
  void send(const void* data, std::size_t bytes);
  bool idle() const noexcept { return transfers_.empty(); }
  WordWriter to;

 private:
  struct Transfer {
    const std::byte* data;
    std::size_t bytes;
  };
  std::deque<Transfer> transfers_;
};

// A stream to memory of the host.
class GmioSink final : public Actor {
 public:
  using Actor::Actor;
  void body() override;
  void receive(void* data, std::size_t bytes);
  bool idle() const noexcept { return transfers_.empty(); }
  WordReader* from = nullptr;

 private:
  struct Transfer {
    std::byte* data;
    std::size_t bytes, done;
  };
  std::deque<Transfer> transfers_;
};

// Sends each packet to the output that its header names.
class PacketSplit final : public Actor {
 public:
  PacketSplit(std::string name, std::size_t ways) : Actor(std::move(name)), to(ways) {}
  void body() override;
  WordReader* from = nullptr;
  std::vector<WordWriter> to;
};

// Passes whole packets on, the one that came first.
class PacketMerge final : public Actor {
 public:
  PacketMerge(std::string name, std::size_t ways) : Actor(std::move(name)), from(ways, nullptr) {}
  void body() override;
  std::vector<WordReader*> from;
  WordWriter to;

 private:
  WordReader* next();
};

}  // namespace aiesim
