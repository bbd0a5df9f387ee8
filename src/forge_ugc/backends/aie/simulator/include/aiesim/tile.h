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
  double loops = 0;                        // pipelined loops that were entered
  double macs = 0;                         // multiply-accumulates of vector instructions
  double narrowed_in_default_modes = 0;    // vectors narrowed while no mode had been set
};

class Tile {
 public:
  void charge(Slot slot, double cycles) noexcept {
    since_[static_cast<std::size_t>(slot)] += cycles;
  }

  // A software-pipelined loop begins: what came before is over, and the pipeline fills.
  void enter_loop() noexcept {
    settle(costs().pipeline_efficiency);
    clock_ += costs().loop_prologue;
    account.prologue += costs().loop_prologue;
    account.loops += 1;
  }

  // Local clock in cycles. What was issued since the last call runs side by side, slot by slot, at
  // the efficiency of a software pipeline; scalar code stands alone.
  double now() noexcept {
    settle(costs().pipeline_efficiency);
    return clock_;
  }

  // The kernel waited: for data, for room, for a lock.
  void wait_until(double cycle) noexcept { clock_ = std::max(now(), cycle); }

  Account account;
  // Power-on defaults. They are state of the tile and live from one invocation to the next.
  Rounding rounding = Rounding::floor;
  Saturation saturation = Saturation::none;
  bool rounding_set = false;  // by the kernel
  bool saturation_set = false;

 private:
  void settle(double efficiency) noexcept {
    double widest = 0;
    for (std::size_t i = 0; i < slot_count; ++i) {
      account.slots[i] += since_[i];
      if (i != static_cast<std::size_t>(Slot::scalar)) widest = std::max(widest, since_[i]);
    }
    clock_ += widest / efficiency + since_[static_cast<std::size_t>(Slot::scalar)];
    since_.fill(0);
  }

  double clock_ = 0;
  std::array<double, slot_count> since_{};
};

// The tile of the running kernel; outside of a graph, one of its own.
inline Tile lone_tile;
inline Tile* running_tile = &lone_tile;
inline Tile& tile() noexcept { return *running_tile; }
inline void set_tile(Tile* running) noexcept {
  running_tile = running == nullptr ? &lone_tile : running;
}

inline void charge(Slot slot, double cycles) noexcept { running_tile->charge(slot, cycles); }

// Ends the run with a fault of the kernel that runs. The runtime adds the kernel's name.
[[noreturn]] void fail(std::string_view what);

}  // namespace aiesim
