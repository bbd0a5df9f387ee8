// What the machine can do: arithmetic, reading from memory, waiting for each other.
//
// The threads of the process's pool repeat a piece of work of about half a millisecond until the
// time is up, each time starting together. The best repetition counts: whatever else the machine
// does can only make one slower. It takes as long as its slowest thread, as a step of a program
// does; arithmetic, which threads do not share, is timed by the processor time of each thread.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "probe/loops.h"
#include "runtime/cpu_features.h"

namespace forge {

struct ComputeProbe {
  Isa isa;
  std::string_view precision;  // f32, bf16 or i8
  ComputeLoop* run;
  double operations;  // of one round
};

// Every loop that was compiled in, best first.
std::span<const ComputeProbe> compute_probes() noexcept;

// Additions plus multiplications a nanosecond of all threads together. The processor must have the
// loop's instruction set. Throws std::system_error if the system has no more threads, as do all.
double measure_compute(const ComputeProbe& probe, unsigned threads, double seconds);

// Bytes a nanosecond that the threads read together from a block of `bytes` bytes, which they walk
// through again and again: from the main memory if it is larger than the caches. The best over 1 to
// 8 streams a thread, each for `seconds`. Throws std::bad_alloc.
double measure_read(unsigned threads, std::size_t bytes, double seconds);

// Nanoseconds of one barrier.
double measure_barrier(unsigned threads, double seconds);

// Nanoseconds of one call that does nothing on all threads.
double measure_call(unsigned threads, double seconds);

}  // namespace forge
