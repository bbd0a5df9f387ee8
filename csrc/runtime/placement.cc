#include "runtime/placement.h"

#if defined(__linux__)
#include <sched.h>
#endif

namespace forge {

#if defined(__linux__)

struct Placement::Processors {
  cpu_set_t set;
};

namespace {

int current_processor() noexcept { return sched_getcpu(); }

}  // namespace

Placement::Placement(unsigned count)
    : count_(count),
      allowed_([]() -> std::unique_ptr<const Processors> {
        auto all = std::make_unique<Processors>();
        if (sched_getaffinity(0, sizeof(all->set), &all->set) != 0) return nullptr;
        return all;
      }()),
      places_(std::make_unique<std::atomic<int>[]>(count)) {
  for (unsigned index = 0; index < count; ++index) places_[index].store(-1);
}

int Placement::move(unsigned index, int processor) const noexcept {
  cpu_set_t free = allowed_->set;
  for (unsigned other = 0; other < count_; ++other) {
    const int place = places_[other].load(std::memory_order_relaxed);
    if (other != index && place >= 0 && place < CPU_SETSIZE) CPU_CLR(place, &free);
  }
  if (CPU_COUNT(&free) == 0 || sched_setaffinity(0, sizeof(free), &free) != 0) return processor;
  return current_processor();
}

#else

struct Placement::Processors {};

namespace {

int current_processor() noexcept { return -1; }

}  // namespace

Placement::Placement(unsigned count)
    : count_(count), places_(std::make_unique<std::atomic<int>[]>(count)) {}

int Placement::move(unsigned, int processor) const noexcept { return processor; }

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
