#include "blocks.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace aiesim {

namespace {
constexpr std::size_t alignment = 64;
// Blocks start with this, so that a kernel does not read what it was not given as zero.
constexpr unsigned char unwritten = 0xcd;
}  // namespace

std::byte* aligned(std::vector<std::byte>& storage) noexcept {
  const auto address = reinterpret_cast<std::uintptr_t>(storage.data());
  return storage.data() + ((alignment - address % alignment) % alignment);
}

BlockReader::BlockReader(std::size_t produced_block, std::size_t taken_block, std::size_t margin,
                         std::size_t blocks)
    : taken_block_(taken_block),
      margin_(margin),
      capacity_(blocks * std::max(produced_block, taken_block)),
      dropped_(0),
      data_(margin),  // the first margin is zero
      block_(margin + taken_block + alignment) {
  unit = "bytes";
}

std::byte* BlockReader::acquire(Actor& actor) {
  while (produced_ < taken_ + taken_block_) actor.block(Wait::data, this);
  while (arrivals_.front().end < taken_ + taken_block_) arrivals_.pop_front();
  consumer_stall += actor.wait_until(arrivals_.front().time);
  actor.tile.wait_until(actor.tile.now() + network_costs().lock_cycles);
  if (first_block < 0) first_block = actor.tile.now();
  last_block = actor.tile.now();
  // data_ begins `margin_` bytes before the bytes that are taken next.
  std::byte* block = aligned(block_);
  std::memcpy(block, data_.data() + (taken_ - dropped_), margin_ + taken_block_);
  taken_ += taken_block_;
  if (taken_ - dropped_ > (std::size_t{1} << 16)) {
    data_.erase(data_.begin(), data_.begin() + static_cast<std::ptrdiff_t>(taken_ - dropped_));
    dropped_ = taken_;
  }
  return block;
}

void BlockReader::release(Actor& actor) {
  freed_ = taken_;
  actor.tile.wait_until(actor.tile.now() + network_costs().lock_cycles);
  frees_.push_back({freed_, actor.tile.now()});
  if (producer->wait == Wait::room && producer->wait_channel == this) producer->wake();
}

bool BlockReader::has_room(std::size_t bytes) const noexcept {
  return produced_ + bytes <= freed_ + capacity_;
}

double BlockReader::room_time(std::size_t bytes) const {
  if (produced_ + bytes <= capacity_) return 0;
  const std::size_t needed = produced_ + bytes - capacity_;
  for (const Mark& mark : frees_) {
    if (mark.end >= needed) return mark.time;
  }
  return 0;
}

void BlockReader::put(const std::byte* block, std::size_t bytes, double time) {
  data_.insert(data_.end(), block, block + bytes);
  produced_ += bytes;
  arrivals_.push_back({produced_, time});
  const std::size_t needed = produced_ > capacity_ ? produced_ - capacity_ : 0;
  while (frees_.size() > 1 && frees_.front().end < needed) frees_.pop_front();
  if (consumer->wait == Wait::data && consumer->wait_channel == this) consumer->wake();
}

BlockWriter::BlockWriter(std::size_t block_bytes)
    : block_bytes_(block_bytes), block_(block_bytes + alignment) {}

std::byte* BlockWriter::acquire(Actor& actor) {
  for (BlockReader* reader : readers) {
    while (!reader->has_room(block_bytes_)) actor.block(Wait::room, reader);
    reader->producer_stall += actor.wait_until(reader->room_time(block_bytes_));
  }
  actor.tile.wait_until(actor.tile.now() + network_costs().lock_cycles);
  std::byte* block = aligned(block_);
  std::memset(block, unwritten, block_bytes_);
  return block;
}

void BlockWriter::release(Actor& actor) {
  actor.tile.wait_until(actor.tile.now() + network_costs().lock_cycles);
  const double now = actor.tile.now();
  if (first_block < 0) first_block = now;
  last_block = now;
  ++blocks;
  for (BlockReader* reader : readers) reader->put(aligned(block_), block_bytes_, now);
}

}  // namespace aiesim
