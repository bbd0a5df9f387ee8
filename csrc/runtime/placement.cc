#include "runtime/placement.h"

#if defined(__linux__)
#include <sched.h>
#include <unistd.h>
#endif

namespace forge {

#if defined(__linux__)

struct Placement::Processors {
  cpu_set_t set;
};

namespace {

// One long wait may be anything, such as a host that has another guest to run.
constexpr int kLongWaits = 4;
constexpr std::chrono::milliseconds kPeriod{100};

int current_processor() noexcept { return sched_getcpu(); }

Placement::Clock::rep ticks(Placement::Clock::time_point time) noexcept {
  return time.time_since_epoch().count();
}

}  // namespace

Placement::Placement(unsigned count)
    : count_(count),
      allowed_([]() -> std::unique_ptr<const Processors> {
        auto all = std::make_unique<Processors>();
        if (sched_getaffinity(0, sizeof(all->set), &all->set) != 0) return nullptr;
        return all;
      }()),
      places_(std::make_unique<std::atomic<int>[]>(count)),
      bound_(std::make_unique<std::atomic<int>[]>(count)) {
  for (unsigned index = 0; index < count; ++index) places_[index].store(-1);
}

int Placement::move(unsigned index, int processor) noexcept {
  const Clock::rep now = ticks(Clock::now());
  if (now < resting_until_.load(std::memory_order_relaxed)) return processor;
  cpu_set_t free = allowed_->set;
  for (unsigned other = 0; other < count_; ++other) {
    const int place = places_[other].load(std::memory_order_relaxed);
    if (other != index && place >= 0 && place < CPU_SETSIZE) CPU_CLR(place, &free);
  }
  if (CPU_COUNT(&free) == 0 || sched_setaffinity(0, sizeof(free), &free) != 0) return processor;
  moved_at_.store(now, std::memory_order_relaxed);
  bound_[index].store(gettid(), std::memory_order_relaxed);
  return current_processor();
}

void Placement::note_long_wait(Clock::time_point began) noexcept {
  if (moved_at_.load(std::memory_order_relaxed) >= ticks(began)) return;
  const Clock::time_point now = Clock::now();
  const Clock::rep since = first_wait_.load(std::memory_order_relaxed);
  if (since < ticks(now - kPeriod)) {
    first_wait_.store(ticks(now), std::memory_order_relaxed);
    long_waits_.store(1, std::memory_order_relaxed);
    return;
  }
  if (long_waits_.fetch_add(1, std::memory_order_relaxed) + 1 < kLongWaits) return;
  first_wait_.store(0, std::memory_order_relaxed);
  resting_until_.store(ticks(now + kPeriod), std::memory_order_relaxed);
  for (unsigned index = 0; index < count_; ++index) {
    const int thread = bound_[index].exchange(0, std::memory_order_relaxed);
    if (thread != 0) sched_setaffinity(thread, sizeof(allowed_->set), &allowed_->set);
  }
}

#else

struct Placement::Processors {};

namespace {

int current_processor() noexcept { return -1; }

}  // namespace

Placement::Placement(unsigned count)
    : count_(count),
      places_(std::make_unique<std::atomic<int>[]>(count)),
      bound_(std::make_unique<std::atomic<int>[]>(count)) {}

int Placement::move(unsigned, int processor) noexcept { return processor; }

void Placement::note_long_wait(Clock::time_point) noexcept {}

#endif

Placement::~Placement() = default;

bool Placement::taken(unsigned index, int processor) const noexcept {
  for (unsigned other = 0; other < index; ++other) {
    if (places_[other].load(std::memory_order_relaxed) == processor) return true;
  }
  return false;
}

void Placement::settle(unsigned index) noexcept {
  if (allowed_ == nullptr) return;
  int processor = current_processor();
  if (processor < 0) return;
  if (taken(index, processor)) processor = move(index, processor);
  // Others read this: it is written only if it changes.
  if (places_[index].load(std::memory_order_relaxed) != processor) {
    places_[index].store(processor, std::memory_order_relaxed);
  }
}

}  // namespace forge
