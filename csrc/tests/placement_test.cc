// Exercises the placement of threads; built by tests/native/test_thread_pool.py. Prints what failed
// and exits with 1.
#include "runtime/placement.h"

#include <sched.h>

#include <cstdio>
#include <thread>

namespace {

using forge::Placement;

int failures = 0;

void expect(bool holds, const char* what) {
  if (holds) return;
  std::printf("failed: %s\n", what);
  ++failures;
}

cpu_set_t affinity() {
  cpu_set_t set;
  sched_getaffinity(0, sizeof(set), &set);
  return set;
}

void stay_on(int processor) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(processor, &one);
  sched_setaffinity(0, sizeof(one), &one);
}

// A thread that is held where another of a lower index is leaves, and stays away.
void a_thread_leaves_an_occupied_processor(const cpu_set_t& allowed, int here) {
  Placement placement(2);
  stay_on(here);
  placement.settle(0);
  std::thread([&] {
    stay_on(here);
    placement.settle(1);
    const bool room = CPU_COUNT(&allowed) > 1;
    expect((sched_getcpu() != here) == room, "a thread shares a processor while others are free");
    const cpu_set_t now = affinity();
    expect((CPU_ISSET(here, &now) == 0) == room, "a thread may return to an occupied processor");
    if (!room) return;
    for (int i = 0; i < 9; ++i) placement.note_long_wait({});
    const cpu_set_t bound = affinity();
    expect(CPU_EQUAL(&bound, &now), "a wait that a move explains releases threads");
    placement.note_long_wait(Placement::Clock::now());
    const cpu_set_t still = affinity();
    expect(CPU_EQUAL(&still, &now), "a single long wait releases threads");
    for (int i = 0; i < 9; ++i) placement.note_long_wait(Placement::Clock::now());
    const cpu_set_t freed = affinity();
    expect(CPU_EQUAL(&freed, &allowed), "a released thread is still bound");
    stay_on(here);
    placement.settle(1);
    expect(sched_getcpu() == here, "a thread moves right after it was released");
  }).join();
  sched_setaffinity(0, sizeof(allowed), &allowed);
}

void thread_0_is_never_moved(int here) {
  Placement placement(2);
  std::thread([&] {
    stay_on(here);
    placement.settle(1);
    placement.settle(0);
    const cpu_set_t now = affinity();
    expect(sched_getcpu() == here && CPU_COUNT(&now) == 1, "thread 0 was moved");
  }).join();
}

void more_threads_than_processors_share(const cpu_set_t& allowed) {
  const auto count = static_cast<unsigned>(CPU_COUNT(&allowed)) + 3;
  Placement placement(count);
  for (unsigned index = 0; index < count; ++index) {
    std::thread([&, index] {
      placement.settle(index);
      const cpu_set_t now = affinity();
      expect(CPU_COUNT(&now) > 0, "a thread has no processor");
    }).join();
  }
}

}  // namespace

int main() {
  const cpu_set_t allowed = affinity();
  const int here = sched_getcpu();
  a_thread_leaves_an_occupied_processor(allowed, here);
  thread_0_is_never_moved(here);
  more_threads_than_processors_share(allowed);
  if (failures == 0) std::printf("ok\n");
  return failures == 0 ? 0 : 1;
}
