#include "probe/probe.h"

#include <time.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "runtime/memory.h"
#include "runtime/thread_pool.h"

namespace forge {
namespace {

constexpr ComputeProbe kComputeProbes[] = {
#define FORGE_COMPUTE_LOOP(isa, precision, name, operations) \
  {Isa::isa, #precision, &name, operations},
#define FORGE_READ_LOOP(isa, name)
#include "probe/loops.inc"
#undef FORGE_COMPUTE_LOOP
#undef FORGE_READ_LOOP
};

ReadLoop* best_read_loop() noexcept {
#define FORGE_COMPUTE_LOOP(isa, precision, name, operations)
#define FORGE_READ_LOOP(isa, name) \
  if (Isa::isa <= cpu_isa()) return &name;
#include "probe/loops.inc"
#undef FORGE_COMPUTE_LOOP
#undef FORGE_READ_LOOP
  return &read_none;
}

constexpr double kPieceNs = 500e3;

double now_ns() noexcept {
  return static_cast<double>(std::chrono::steady_clock::now().time_since_epoch() /
                             std::chrono::nanoseconds(1));
}

// Of the calling thread alone, while it has a processor.
double processor_ns() noexcept {
#if defined(__unix__) || defined(__APPLE__)
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
#else
  return now_ns();
#endif
}

// Keeps results alive.
std::atomic<std::uint64_t> sink{0};

// Work(share, repetition) on all threads, again and again.
template <typename Work>
struct Repeated {
  Work work;
  double deadline_ns;
  std::vector<double> took_ns;  // by thread
  bool more = true;
  double best_ns = std::numeric_limits<double>::infinity();

  static void run(void* context, Share share, Barrier& barrier) noexcept {
    auto& self = *static_cast<Repeated*>(context);
    for (std::size_t repetition = 0;; ++repetition) {
      barrier.arrive_and_wait(share.index);
      if (!self.more) return;
      const double start = now_ns();
      self.work(share, repetition, barrier);
      self.took_ns[share.index] = now_ns() - start;
      barrier.arrive_and_wait(share.index);
      if (share.index == 0) self.count();
    }
  }

  void count() noexcept {
    best_ns = std::min(best_ns, *std::max_element(took_ns.begin(), took_ns.end()));
    more = now_ns() < deadline_ns;
  }
};

// Nanoseconds of the best repetition.
template <typename Work>
double best_of(unsigned threads, double seconds, Work work) {
  Repeated<Work> repeated{work, now_ns() + seconds * 1e9, std::vector<double>(threads)};
  process_pool(threads, false).run(Repeated<Work>::run, &repeated);
  return repeated.best_ns;
}

// How often a piece of work fits into the time of one repetition, on the calling thread.
template <typename Work>
std::size_t fitting_rounds(Work work) {
  for (std::size_t rounds = 64;; rounds *= 2) {
    const double start = now_ns();
    work(rounds);
    if (now_ns() - start >= kPieceNs / 2) return rounds;
  }
}

}  // namespace

std::span<const ComputeProbe> compute_probes() noexcept { return kComputeProbes; }

double measure_compute(const ComputeProbe& probe, unsigned threads, double seconds) {
  const auto run = [&](std::size_t rounds) noexcept {
    sink.fetch_add(static_cast<std::uint64_t>(probe.run(rounds)), std::memory_order_relaxed);
  };
  run(1);
  const std::size_t rounds = fitting_rounds(run);
  std::vector<double> best_ns(threads, std::numeric_limits<double>::infinity());
  const auto work = [&](Share share, std::size_t, Barrier&) noexcept {
    const double start = processor_ns();
    run(rounds);
    best_ns[share.index] = std::min(best_ns[share.index], processor_ns() - start);
  };
  best_of(threads, seconds, work);
  double rate = 0.0;
  for (double ns : best_ns) rate += probe.operations * static_cast<double>(rounds) / ns;
  return rate;
}

double measure_read(unsigned threads, std::size_t bytes, double seconds) {
  constexpr std::size_t kPieceBytes = std::size_t{8} << 20;  // of one thread and repetition
  const std::size_t pieces = std::max<std::size_t>(1, bytes / (kPieceBytes * threads));
  const Memory block(pieces * kPieceBytes * threads);
  std::memset(block.data(), 1, block.bytes());
  ReadLoop* const read = best_read_loop();
  double best_ns = std::numeric_limits<double>::infinity();
  for (unsigned streams : {1u, 2u, 4u, 8u}) {
    const auto work = [&](Share share, std::size_t repetition, Barrier&) noexcept {
      const std::size_t piece = repetition % pieces * threads + share.index;
      const std::uint64_t found = read(block.data() + piece * kPieceBytes, kPieceBytes, streams);
      sink.fetch_add(found, std::memory_order_relaxed);
    };
    best_ns = std::min(best_ns, best_of(threads, seconds, work));
  }
  return static_cast<double>(kPieceBytes * threads) / best_ns;
}

double measure_barrier(unsigned threads, double seconds) {
  constexpr int kBarriers = 50;
  const auto work = [](Share share, std::size_t, Barrier& barrier) noexcept {
    for (int i = 0; i < kBarriers; ++i) barrier.arrive_and_wait(share.index);
  };
  return best_of(threads, seconds, work) / kBarriers;
}

double measure_call(unsigned threads, double seconds) {
  ThreadPool& pool = process_pool(threads, false);
  const double deadline = now_ns() + seconds * 1e9;
  double best_ns = std::numeric_limits<double>::infinity();
  for (double start = now_ns(); start < deadline; start = now_ns()) {
    pool.run([](void*, Share, Barrier&) noexcept {}, nullptr);
    best_ns = std::min(best_ns, now_ns() - start);
  }
  return best_ns;
}

}  // namespace forge
