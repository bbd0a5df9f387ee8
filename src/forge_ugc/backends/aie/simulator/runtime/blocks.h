// Buffers between actors: blocks that change hands by locks, ping and pong.
#pragma once

#include <cstddef>
#include <deque>
#include <vector>

#include "engine.h"

namespace aiesim {

// One reading end of a buffer. Bytes are counted through, so that producer and consumer may take
// blocks of different sizes; two of the larger ones are in memory at a time.
class BlockReader final : public Channel {
 public:
  BlockReader(std::size_t produced_block, std::size_t taken_block, std::size_t margin,
              std::size_t blocks);
  // Blocks the running actor until there is a block; its address, the margin first.
  std::byte* acquire(Actor& actor);
  void release(Actor& actor);

  bool has_room(std::size_t bytes) const noexcept;
  // When the room for `bytes` more became free.
  double room_time(std::size_t bytes) const;
  void put(const std::byte* block, std::size_t bytes, double time);

  std::size_t fill() const override { return produced_ - freed_; }
  std::size_t depth() const override { return capacity_; }
  std::size_t unread() const noexcept { return produced_ - taken_; }
  std::size_t block_bytes() const noexcept { return taken_block_; }
  std::size_t margin_bytes() const noexcept { return margin_; }
  std::size_t taken() const noexcept { return taken_; }
  void add_capacity(std::size_t bytes) noexcept { capacity_ += bytes; }

  double first_block = -1, last_block = -1;

 private:
  struct Mark {
    std::size_t end;  // bytes since the start
    double time;
  };
  std::size_t taken_block_, margin_, capacity_;
  std::size_t produced_ = 0, taken_ = 0, freed_ = 0;
  std::size_t dropped_ = 0;  // bytes before the first of data_
  std::vector<std::byte> data_;
  std::deque<Mark> arrivals_, frees_;
  std::vector<std::byte> block_;
};

// The writing end: a block goes to all readers when it is released.
class BlockWriter {
 public:
  explicit BlockWriter(std::size_t block_bytes);
  std::byte* acquire(Actor& actor);
  void release(Actor& actor);
  std::size_t block_bytes() const noexcept { return block_bytes_; }

  std::vector<BlockReader*> readers;
  double first_block = -1, last_block = -1;
  std::size_t blocks = 0;

 private:
  std::size_t block_bytes_;
  std::vector<std::byte> block_;
};

// First byte in a block of storage that is aligned to 64 bytes.
std::byte* aligned(std::vector<std::byte>& storage) noexcept;

}  // namespace aiesim
