// A program of kernels, and the frame in which one call runs it.
//
// The arguments of all steps lie one after another in one block of memory. A frame has a copy of
// that block with every address resolved, so that a step reads nothing but its own arguments.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/kernel.h"
#include "runtime/memory.h"
#include "runtime/thread_pool.h"

namespace forge {

// Where an address points that is not known before a frame or a call.
//   arena     the frame's arena
//   external  memory of one call: an input or an output of the program
//   scratch   the frame's scratch memory
//   status    the frame's status word: zero, or what a kernel wrote there to report an error
enum class Space : unsigned { arena, external, scratch, status };

// `*(args + field_offset) = address(space, index) + offset`.
struct Relocation {
  std::size_t field_offset;
  Space space;
  unsigned index;  // of an external memory
  std::ptrdiff_t offset;
};

struct Step {
  const Kernel* kernel;
  KernelFunction* run;
  std::size_t args_offset;
  bool barrier;  // all threads have to finish the steps before this one first
};

// Nanoseconds of the steady clock at which a thread came to a step, started and ended it.
struct StepTimes {
  std::int64_t arrived, started, ended;
};

// Steps in order. Not changed any more once there is a frame.
class Program {
 public:
  // Shares of every step, and how many threads run them.
  explicit Program(unsigned threads, bool pinned) : threads_(threads), pinned_(pinned) {}

  // Appends a step; relocations of the arguments are relative to `args`. Returns its number.
  std::size_t add(const Kernel& kernel, KernelFunction* run, std::span<const std::byte> args,
                  std::span<const Relocation> relocations, bool barrier);

  unsigned threads() const noexcept { return threads_; }
  bool pinned() const noexcept { return pinned_; }
  std::span<const Step> steps() const noexcept { return steps_; }
  std::span<const std::byte> args() const noexcept { return args_; }
  std::span<const Relocation> relocations() const noexcept { return relocations_; }
  std::size_t scratch_bytes() const noexcept { return scratch_bytes_; }

 private:
  const unsigned threads_;
  const bool pinned_;
  std::vector<Step> steps_;
  std::vector<std::byte> args_;
  std::vector<Relocation> relocations_;  // field_offset from the start of args_
  std::size_t scratch_bytes_ = 0;
};

// The memory of one call at a time. `program` and `arena` have to outlive it.
class Frame {
 public:
  Frame(const Program& program, std::byte* arena);
  Frame(const Frame&) = delete;
  Frame& operator=(const Frame&) = delete;

  // Sets the address of an external memory for the steps that use it.
  void bind(unsigned index, std::byte* address) noexcept;

  // Runs steps [begin, end) on the threads of the process and returns the status word, which is
  // zero unless a kernel reported an error. `times`, if given, has room for (end - begin) *
  // threads entries, step after step. Throws std::system_error if the system has no more threads.
  int run(std::size_t begin, std::size_t end, StepTimes* times);

 private:
  struct External {
    std::size_t field_offset;
    std::ptrdiff_t offset;
  };

  const Program& program_;
  Memory scratch_;
  std::vector<std::byte> args_;
  std::vector<std::vector<External>> externals_;  // by index
  alignas(64) std::int32_t status_ = 0;
};

}  // namespace forge
