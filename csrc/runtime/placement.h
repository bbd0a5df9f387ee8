// Keeps threads that work together on processors of their own.
//
// Schedulers often wake a thread on the processor of the one that woke it, and leave both there
// for milliseconds although another one idles: a region of two threads then takes twice its time.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>

namespace forge {

class Placement {
 public:
  // For threads 0 to count - 1, on the processors that the calling thread may use.
  explicit Placement(unsigned count);
  ~Placement();
  Placement(const Placement&) = delete;
  Placement& operator=(const Placement&) = delete;

  // Thread `index` notes where it runs. If one of a lower index was last seen there, and processors
  // are left that no other thread has, it moves to one of those and stays off those of the others;
  // so thread 0, which is the user's, is never moved. Takes some nanoseconds unless it moves.
  void settle(unsigned index) noexcept;

  using Clock = std::chrono::steady_clock;

  // A thread has waited long, since `began`. If that happens several times in a tenth of a second,
  // other processes seem to want the processors: as long again, all threads go where the scheduler
  // sends them, which may be all to the one that is left. A wait during which a thread moved does
  // not count.
  void note_long_wait(Clock::time_point began) noexcept;

 private:
  struct Processors;

  bool taken(unsigned index, int processor) const noexcept;
  int move(unsigned index, int processor) noexcept;

  const unsigned count_;
  const std::unique_ptr<const Processors> allowed_;   // null where threads cannot be placed
  const std::unique_ptr<std::atomic<int>[]> places_;  // of each thread, -1 at first
  const std::unique_ptr<std::atomic<int>[]> bound_;   // id of each thread that was moved, or 0
  std::atomic<Clock::rep> moved_at_{0}, first_wait_{0}, resting_until_{0};
  std::atomic<int> long_waits_{0};
};

}  // namespace forge
