// Threads that work on one thing together: the engine's one parallel region, and its barrier.
//
// Everything here spins for a short while before it parks in the kernel: a program
// has a barrier every few microseconds, and an idle process must cost no processor time.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "runtime/placement.h"
#include "runtime/share.h"

namespace forge {

// A barrier for a fixed number of threads, used again and again.
class Barrier {
 public:
  // Threads that had to park settle in `placement` again, or release it if that took long.
  explicit Barrier(unsigned count, Placement* placement = nullptr) noexcept
      : count_(count), placement_(placement) {}

  // Returns once all threads have arrived; what they wrote before is then visible to all. `index`
  // is that of the calling thread.
  void arrive_and_wait(unsigned index) noexcept;

 private:
  const unsigned count_;
  Placement* const placement_;
  alignas(64) std::atomic<unsigned> arrived_{0};
  alignas(64) std::atomic<std::uint32_t> phase_{0};
};

// The calling thread and `count - 1` workers of its own.
class ThreadPool {
 public:
  using Body = void (*)(void* context, Share share, Barrier& barrier) noexcept;

  // Workers keep off the processors of the caller and of each other. If `pinned`, worker i stays on
  // the i-th processor that the process may use, which leaves the first to the caller. Throws
  // std::system_error if the system has no more threads.
  explicit ThreadPool(unsigned count, bool pinned = false);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  unsigned count() const noexcept { return count_; }
  bool pinned() const noexcept { return pinned_; }

  // Calls `body` once on every thread, with shares 0 to count - 1 and a barrier for them, and
  // returns when all calls have. Callers on several threads take turns. A body must not call run.
  void run(Body body, void* context) noexcept;

 private:
  void work(unsigned index) noexcept;
  void stop() noexcept;

  const unsigned count_;
  const bool pinned_;
  std::mutex turn_;
  Placement placement_;
  Barrier inside_, end_;
  Body body_ = nullptr;
  void* context_ = nullptr;
  alignas(64) std::atomic<std::uint32_t> epoch_{0};
  std::atomic<bool> stopping_{false};
  std::vector<std::thread> workers_;
};

// The pool of this process with that many threads, at least one: made at first use and kept. In the
// child of a fork, where the parent's workers do not exist, the first use makes a new one. Throws
// std::system_error if the system has no more threads.
ThreadPool& process_pool(unsigned count, bool pinned = false);

}  // namespace forge
