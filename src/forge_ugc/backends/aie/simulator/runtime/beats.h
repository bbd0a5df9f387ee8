// The cascade between two tiles: a short FIFO of accumulator lanes.
#pragma once

#include <cstddef>
#include <vector>

#include "aiesim/cascade.h"
#include "engine.h"

namespace aiesim {

class BeatReader final : public Channel {
 public:
  BeatReader();
  void take(Actor& actor, void* lanes, std::size_t bytes);
  void put(Actor& actor, const void* lanes, std::size_t bytes);
  std::size_t fill() const override { return sent_ - taken_; }
  std::size_t depth() const override { return slots_.size(); }
  std::size_t beats() const noexcept { return taken_; }

 private:
  struct Slot {
    std::byte lanes[cascade_beat_bytes];
    std::size_t bytes;
    double sent_at, taken_at;
  };
  std::vector<Slot> slots_;
  std::size_t sent_ = 0, taken_ = 0;
  double last_sent_ = -1, last_taken_ = -1;
};

class BeatWriter {
 public:
  BeatReader* reader = nullptr;
};

}  // namespace aiesim
