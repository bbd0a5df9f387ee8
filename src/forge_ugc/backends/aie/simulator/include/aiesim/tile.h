// The tile that a kernel runs on: its clock, its account of issue slots and its modes.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "aiesim/costs.h"

namespace aiesim {

enum class Slot : std::uint8_t { vector, load, store, scalar, move };
inline constexpr std::size_t slot_count = 5;

// How srs (shift, round, saturate) rounds. Names only: the hardware's numbers differ by generation.
enum class Rounding : std::uint8_t {
  floor,
  ceil,
  positive_inf,
  negative_inf,
  symmetric_inf,
  symmetric_zero,
  conv_even,
  conv_odd
};

// What becomes of a value that does not fit: its low bits, the nearest limit, or the nearest limit
// of a range that is symmetric about zero.
enum class Saturation : std::uint8_t { none, saturate, symmetric };

// What a kernel did since its tile started.
struct Account {
  std::array<double, slot_count> slots{};  // cycles of issue, by Slot
  double prologue = 0;                     // cycles of filling software pipelines
  double latency = 0;                      // cycles of waiting for results, outside of loops
  double loops = 0;                        // pipelined loops that were entered
  double macs = 0;                         // multiply-accumulates of vector instructions
  double narrowed_in_default_modes = 0;    // vectors narrowed while no mode had been set
};

// The local clock of a tile. Work is gathered, slot by slot, into a segment; when the segment ends,
// its slots have run side by side and scalar code by itself. One iteration of a software-pipelined
// loop is a segment, and waiting for streams hides in it; elsewhere segments end where something is
// waited for: a result that leaves the vector unit, a word of a stream, a lock.
class Tile {
 public:
  void charge(Slot slot, double cycles) noexcept {
    since_[static_cast<std::size_t>(slot)] += cycles;
  }

  // Local clock in cycles.
  double now() noexcept {
    if (depth_ == 0) settle();
    return std::max(clock_ + segment(), horizon_);
  }
  // The kernel cannot go on before this cycle: for data, for room, for a lock.
  void wait_until(double cycle) noexcept {
    horizon_ = std::max(horizon_, cycle);
    if (depth_ == 0) settle();
  }

  // One iteration of a software-pipelined loop, known by `loop`. It is a new entry, which fills the
  // pipeline, unless it follows upon the last iteration and nothing was done in between.
  void begin_iteration(std::uint64_t loop) noexcept {
    const bool idle = std::all_of(since_.begin(), since_.end(), [](double c) { return c == 0; });
    if (!idle || loop != last_loop_ || horizon_ > clock_) {
      settle();
      clock_ += costs().loop_prologue;
      account.prologue += costs().loop_prologue;
      account.loops += 1;
    }
    last_loop_ = loop;
    ++depth_;
  }
  void end_iteration(std::uint64_t loop) noexcept {
    --depth_;
    settle();
    last_loop_ = loop;
  }

  // A result leaves the vector pipeline; outside of pipelined loops, the next step waits for it.
  void end_chain() noexcept {
    if (depth_ != 0) return;
    settle();
    clock_ += costs().chain_latency;
    account.latency += costs().chain_latency;
  }

  Account account;
  // Power-on defaults. They are state of the tile and live from one invocation to the next.
  Rounding rounding = Rounding::floor;
  Saturation saturation = Saturation::none;
  bool rounding_set = false;  // by the kernel
  bool saturation_set = false;

 private:
  double segment() const noexcept {
    double widest = 0;
    for (std::size_t i = 0; i < slot_count; ++i) {
      if (i != static_cast<std::size_t>(Slot::scalar)) widest = std::max(widest, since_[i]);
    }
    return widest / costs().pipeline_efficiency + since_[static_cast<std::size_t>(Slot::scalar)];
  }
  void settle() noexcept {
    clock_ = std::max(clock_ + segment(), horizon_);
    horizon_ = clock_;
    for (std::size_t i = 0; i < slot_count; ++i) account.slots[i] += since_[i];
    since_.fill(0);
  }

  double clock_ = 0;    // at the beginning of the segment
  double horizon_ = 0;  // what was waited for in it
  std::array<double, slot_count> since_{};
  std::uint64_t last_loop_ = 0;
  unsigned depth_ = 0;  // of pipelined loops
};

// The tile of the running kernel; outside of a graph, one of its own.
inline Tile lone_tile;
inline Tile* running_tile = &lone_tile;
inline Tile& tile() noexcept { return *running_tile; }
inline void set_tile(Tile* running) noexcept {
  running_tile = running == nullptr ? &lone_tile : running;
}

inline void charge(Slot slot, double cycles) noexcept { running_tile->charge(slot, cycles); }

// One iteration of a loop that chess_prepare_for_pipelining marks.
class LoopMark {
 public:
  LoopMark(const char* file, unsigned line) noexcept
      : loop_(reinterpret_cast<std::uintptr_t>(file) ^ (std::uint64_t{line} << 44)) {
    running_tile->begin_iteration(loop_);
  }
  LoopMark(const LoopMark&) = delete;
  LoopMark& operator=(const LoopMark&) = delete;
  ~LoopMark() { running_tile->end_iteration(loop_); }

 private:
  std::uint64_t loop_;
};

// Ends the run with a fault of the kernel that runs. The runtime adds the kernel's name.
[[noreturn]] void fail(std::string_view what);

}  // namespace aiesim

// Stands between the head of a loop and its body.
#define AIESIM_PIPELINED_LOOP                                                 \
  if (const ::aiesim::LoopMark aiesim_loop_mark(__FILE__, __LINE__); false) { \
  } else
