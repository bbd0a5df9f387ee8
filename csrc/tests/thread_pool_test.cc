// Exercises the pool and its barrier; built with and without ThreadSanitizer by
// tests/native/test_thread_pool.py. Prints what failed and exits with 1.
#include "runtime/thread_pool.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <numeric>
#include <vector>

namespace {

using forge::Barrier;
using forge::Share;
using forge::ThreadPool;

int failures = 0;

void expect(bool holds, const char* what) {
  if (holds) return;
  std::printf("failed: %s\n", what);
  ++failures;
}

struct Stages {
  std::vector<long> values;  // one a thread, plain memory: the barrier alone orders it
  int rounds;
  long wrong = 0;
};

// Every thread writes its own value, then reads its neighbour's, round after round.
void exchange(void* context, Share share, Barrier& barrier) noexcept {
  auto& stages = *static_cast<Stages*>(context);
  const unsigned next = (share.index + 1) % share.count;
  long wrong = 0;
  for (int round = 0; round < stages.rounds; ++round) {
    stages.values[share.index] = round * 1000L + share.index;
    barrier.arrive_and_wait(share.index);
    wrong += stages.values[next] != round * 1000L + next;
    barrier.arrive_and_wait(share.index);
  }
  if (share.index == 0) stages.wrong = wrong;
}

void exchange_on(ThreadPool& pool, int rounds) {
  Stages stages{std::vector<long>(pool.count()), rounds};
  pool.run(exchange, &stages);
  expect(stages.wrong == 0, "a thread saw a value from before the barrier");
}

struct Counts {
  std::vector<int> calls;
};

void count_calls(void* context, Share share, Barrier&) noexcept {
  ++static_cast<Counts*>(context)->calls[share.index];
}

void every_share_runs_once_a_call(unsigned threads) {
  ThreadPool pool(threads);
  Counts counts{std::vector<int>(threads)};
  for (int call = 0; call < 200; ++call) pool.run(count_calls, &counts);
  for (int calls : counts.calls) expect(calls == 200, "a share ran another number of times");
}

void callers_take_turns() {
  ThreadPool pool(3);
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 4; ++caller) {
    callers.emplace_back([&pool] {
      for (int call = 0; call < 25; ++call) exchange_on(pool, 5);
    });
  }
  for (std::thread& caller : callers) caller.join();
}

double processor_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) { return t.tv_sec + t.tv_usec * 1e-6; };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

void idle_threads_cost_nothing() {
  ThreadPool pool(4);
  exchange_on(pool, 3);
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  const double before = processor_seconds();
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  expect(processor_seconds() - before < 0.1, "parked threads use processor time");
}

[[maybe_unused]] void a_forked_child_makes_its_own_pool() {
  exchange_on(forge::process_pool(3), 10);
  const pid_t child = fork();
  if (child == 0) {
    failures = 0;
    exchange_on(forge::process_pool(3), 10);
    _exit(failures == 0 ? 0 : 1);
  }
  int status = 1;
  waitpid(child, &status, 0);
  expect(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the pool of a forked child does not work");
  exchange_on(forge::process_pool(3), 10);
}

}  // namespace

int main() {
  for (unsigned threads : {1u, 2u, 3u, 7u}) {
    every_share_runs_once_a_call(threads);
    ThreadPool pool(threads);
    exchange_on(pool, 300);
  }
  callers_take_turns();
  idle_threads_cost_nothing();
#if !defined(__SANITIZE_THREAD__)  // its own threads do not survive a fork
  a_forked_child_makes_its_own_pool();
#endif
  expect(&forge::process_pool(2) == &forge::process_pool(2), "a pool is made twice");
  if (failures == 0) std::printf("ok\n");
  return failures == 0 ? 0 : 1;
}
