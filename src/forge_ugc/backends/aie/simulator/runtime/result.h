// The result of a run as JSON, for the runner.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine.h"

namespace aiesim {

// An actor that waits, as it was when the graph came to a stop.
struct Waiter {
  const Actor* actor;
  Wait wait;
  const Channel* channel;
  std::string detail;
  std::size_t fill, depth;
  std::vector<void*> calls;
  long iteration;  // of a kernel; -1 of others
};

// Why a graph did not finish.
struct Stop {
  std::vector<Waiter> chain;  // each waits for the next one
  bool cycle = false;         // the last one waits for the first
  bool resolved = false;      // with deeper FIFOs the run came to its end
  std::vector<const Channel*> deepened;
};

// Writes the result once and leaves the program at once.
[[noreturn]] void leave_with_stop(const Stop& stop);
[[noreturn]] void leave_with_fault(std::string_view status, std::string_view what, Place place,
                                   const Actor* actor, const std::vector<void*>& calls);
void write_result(int exit_code);
// The kernels of the graph, for the loader; then leaves.
[[noreturn]] void leave_with_discovery();

}  // namespace aiesim
