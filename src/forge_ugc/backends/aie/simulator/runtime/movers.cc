#include "movers.h"

#include <algorithm>
#include <cstring>

#include "aiesim/stream_access.h"

namespace aiesim {

StreamToBuffer::StreamToBuffer(std::string given, std::size_t block_bytes, bool packets)
    : Actor(std::move(given)), to(block_bytes), packets_(packets) {}

void StreamToBuffer::body() {
  bool at_header = packets_;
  while (true) {
    std::byte* block = to.acquire(*this);
    for (std::size_t at = 0; at < to.block_bytes(); at += 4) {
      if (at_header) from->take(*this), at_header = false;
      const WordReader::Word word = from->take(*this);
      std::memcpy(block + at, &word.bits, std::min<std::size_t>(4, to.block_bytes() - at));
      at_header = packets_ && word.last;
    }
    to.release(*this);
  }
}

BufferToStream::BufferToStream(std::string given, int packet_id)
    : Actor(std::move(given)), packet_id_(packet_id) {}

void BufferToStream::body() {
  while (true) {
    const std::byte* block = from->acquire(*this);
    tile.wait_until(tile.now() + network_costs().dma_start_cycles);
    if (packet_id_ >= 0) to.put(*this, packet_header(0, unsigned(packet_id_)), false);
    for (std::size_t at = 0; at < from->block_bytes(); at += 4) {
      std::uint32_t word = 0;
      std::memcpy(&word, block + at, std::min<std::size_t>(4, from->block_bytes() - at));
      to.put(*this, word, packet_id_ >= 0 && at + 4 >= from->block_bytes());
    }
    tile.wait_until(to.last_word + 1);
    from->release(*this);
  }
}

void GmioSource::body() {
  while (true) {
    while (transfers_.empty()) block(Wait::host_data);
    const Transfer transfer = transfers_.front();
    for (std::size_t at = 0; at < transfer.bytes; at += 4) {
      std::uint32_t word = 0;
      std::memcpy(&word, transfer.data + at, std::min<std::size_t>(4, transfer.bytes - at));
      to.put(*this, word, false);
    }
    transfers_.pop_front();
  }
}

void GmioSource::send(const void* data, std::size_t bytes) {
  transfers_.push_back({static_cast<const std::byte*>(data), bytes});
  if (wait == Wait::host_data) wake();
}

void GmioSink::body() {
  while (true) {
    while (transfers_.empty()) block(Wait::host_data);
    Transfer& transfer = transfers_.front();
    while (transfer.done < transfer.bytes) {
      const WordReader::Word word = from->take(*this);
      std::memcpy(transfer.data + transfer.done, &word.bits,
                  std::min<std::size_t>(4, transfer.bytes - transfer.done));
      transfer.done += 4;
    }
    transfers_.pop_front();
  }
}

void GmioSink::receive(void* data, std::size_t bytes) {
  transfers_.push_back({static_cast<std::byte*>(data), bytes, 0});
  if (wait == Wait::host_data) wake();
}

void PacketSplit::body() {
  while (true) {
    WordReader::Word word = from->take(*this);
    const std::size_t id = word.bits & 0x1f;
    if (id >= to.size()) {
      fail(name + " got a packet with id " + std::to_string(id) + ", but has only " +
           std::to_string(to.size()) + " outputs");
    }
    to[id].put(*this, word.bits, word.last);
    while (!word.last) {
      word = from->take(*this);
      to[id].put(*this, word.bits, word.last);
    }
  }
}

WordReader* PacketMerge::next() {
  WordReader* found = nullptr;
  for (WordReader* reader : from) {
    if (reader == nullptr || reader->empty()) continue;
    if (found == nullptr || reader->arrival() < found->arrival()) found = reader;
  }
  return found;
}

void PacketMerge::body() {
  while (true) {
    WordReader* reader = next();
    while (reader == nullptr) {
      wait_any = true;
      block(Wait::data);
      wait_any = false;
      reader = next();
    }
    WordReader::Word word{};
    do {
      word = reader->take(*this);
      to.put(*this, word.bits, word.last);
    } while (!word.last);
  }
}

}  // namespace aiesim
