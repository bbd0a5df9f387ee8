// Fibers: each kernel has a stack of its own and runs until it blocks.
#pragma once

#include <cstddef>
#include <vector>

namespace aiesim {

// One stack of control flow. x86-64 switches by hand, since swapcontext makes two system calls for
// the signal mask at each switch and designs switch millions of times; others use ucontext.
class Fiber {
 public:
  Fiber(void (*entry)(void*), void* argument);
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // Runs the fiber until it calls suspend or ends.
  void resume();
  // Goes back to who resumed the running fiber.
  void suspend();

  // Return addresses of the calls in progress, innermost first, of a fiber that is suspended or (if
  // `frame` is its frame pointer) running.
  std::vector<void*> calls(void* frame = nullptr) const;
  // Most bytes of stack that were in use at any time.
  std::size_t deepest_bytes() const;
  bool holds(const void* address) const noexcept;

  static constexpr std::size_t stack_bytes = std::size_t{1} << 20;

 private:
  struct Context;
  std::byte* stack_ = nullptr;  // lowest address; the page below it faults
  Context* context_ = nullptr;
};

}  // namespace aiesim
