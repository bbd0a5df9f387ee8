// Streams between actors: bounded FIFOs of 32-bit words in modelled time.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "engine.h"

namespace aiesim {

// One reading end of a stream. Word n may be sent when word n - depth was taken; it can be taken
// one cycle after the word before it, once it arrived. So time is a function of the data alone, and
// the order in which actors run has no part in it.
class WordReader final : public Channel {
 public:
  WordReader(std::size_t depth, double latency);
  struct Word {
    std::uint32_t bits;
    bool last;
  };
  // Blocks the running actor until there is a word. `cycles` is the time a word takes on this end.
  Word take(Actor& actor, double cycles = 1);
  bool empty() const noexcept { return taken_ == sent_; }
  bool full() const noexcept { return sent_ - taken_ >= depth_; }
  void put(std::uint32_t bits, bool last, double send_time);
  // When the place of the next word became free.
  double room_time() const;
  std::size_t fill() const override { return sent_ - taken_; }
  std::size_t depth() const override { return depth_; }
  bool grow() override;
  std::uint64_t words() const noexcept { return taken_; }
  double arrival() const { return slots_[taken_ % slots_.size()].arrival; }

  double first_word = -1;  // when it was taken
  double last_word = -1;
  int packet_id = -1;

 private:
  struct Slot {
    std::uint32_t bits;
    bool last;
    double arrival;
  };
  void resize(std::size_t depth);

  std::size_t depth_;
  std::size_t path_;  // words that the last switches hold, ahead of a FIFO in memory
  double latency_;
  std::vector<Slot> slots_;
  std::vector<double> taken_at_;
  std::uint64_t sent_ = 0, taken_ = 0;
  double handover_ = -1;
};

// The writing end: every word goes to all readers.
class WordWriter {
 public:
  // Blocks the running actor while a reader's FIFO is full. `cycles` is the time between two words.
  void put(Actor& actor, std::uint32_t bits, bool last, double cycles = 1);
  bool room(std::size_t words = 1) const;
  std::uint64_t words() const noexcept { return sent_; }

  std::vector<WordReader*> readers;
  double first_word = -1;  // when it was sent
  double last_word = -1;

 private:
  std::array<double, 4> sent_at_{-1, -1, -1, -1};  // the core's own FIFO holds four words
  double last_sent_ = -1;
  std::uint64_t sent_ = 0;
};

}  // namespace aiesim
