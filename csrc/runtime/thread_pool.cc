#include "runtime/thread_pool.h"

#include <pthread.h>
#include <sched.h>

#include <chrono>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace forge {
namespace {

// About 50 microseconds on current processors: longer than the gap between two instructions of a
// program, shorter than what anyone would notice as load. Who then still waits parks at once: where
// another process wants the processor, yielding would hand it over for milliseconds.
constexpr int kSpins = 1500;

// Threads with processors of their own do not wait as long as this for each other, or hardly ever.
constexpr std::chrono::milliseconds kLong{1};

void pause_briefly() noexcept {
#if defined(__x86_64__)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Whether the value is soon another than the old one.
bool changes_soon(const std::atomic<std::uint32_t>& value, std::uint32_t old) noexcept {
  for (int spin = 0; spin < kSpins; ++spin) {
    if (value.load(std::memory_order_acquire) != old) return true;
    pause_briefly();
  }
  return false;
}

// Binds the calling thread to one processor, where the system can and has that many.
void pin_to(unsigned index) noexcept {
#if defined(__linux__)
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &allowed) || index-- != 0) continue;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    pthread_setaffinity_np(pthread_self(), sizeof(one), &one);
    return;
  }
#else
  static_cast<void>(index);
#endif
}

struct Pools {
  std::mutex guard;
  std::vector<std::unique_ptr<ThreadPool>> by_count;
};

// Replaced, not emptied, in the child of a fork: there the old locks may be held by threads that do
// not exist, and the old pools cannot join theirs.
std::atomic<Pools*> pools{nullptr};

void forget_pools() noexcept { pools.store(nullptr, std::memory_order_release); }

Pools& current_pools() {
  static const int registered = pthread_atfork(nullptr, nullptr, forget_pools);
  static_cast<void>(registered);
  Pools* found = pools.load(std::memory_order_acquire);
  if (found == nullptr) {
    auto made = std::make_unique<Pools>();
    if (pools.compare_exchange_strong(found, made.get())) found = made.release();
  }
  return *found;
}

}  // namespace

void Barrier::arrive_and_wait(unsigned index) noexcept {
  const std::uint32_t phase = phase_.load(std::memory_order_acquire);
  if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == count_) {
    arrived_.store(0, std::memory_order_relaxed);
    phase_.fetch_add(1, std::memory_order_release);
    phase_.notify_all();
    return;
  }
  if (changes_soon(phase_, phase)) return;
  using Clock = Placement::Clock;
  const auto began = Clock::now();
  phase_.wait(phase, std::memory_order_acquire);
  if (placement_ == nullptr) return;
  if (Clock::now() - began > kLong) {
    placement_->note_long_wait(began);
  }
  placement_->settle(index);
}

ThreadPool::ThreadPool(unsigned count, bool pinned)
    : count_(count),
      pinned_(pinned),
      placement_(count),
      inside_(count, pinned ? nullptr : &placement_),
      end_(count, pinned ? nullptr : &placement_) {
  workers_.reserve(count - 1);
  try {
    for (unsigned index = 1; index < count; ++index) {
      workers_.emplace_back([this, index] { work(index); });
    }
  } catch (...) {
    stop();
    throw;
  }
}

ThreadPool::~ThreadPool() { stop(); }

void ThreadPool::stop() noexcept {
  stopping_.store(true, std::memory_order_release);
  epoch_.fetch_add(1, std::memory_order_release);
  epoch_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void ThreadPool::run(Body body, void* context) noexcept {
  const std::lock_guard<std::mutex> turn(turn_);
  body_ = body;
  context_ = context;
  epoch_.fetch_add(1, std::memory_order_release);
  if (count_ > 1) epoch_.notify_all();
  if (!pinned_) placement_.settle(0);
  body(context, Share{0, count_}, inside_);
  end_.arrive_and_wait(0);
}

void ThreadPool::work(unsigned index) noexcept {
  if (pinned_) pin_to(index);
  for (std::uint32_t epoch = 0;; ++epoch) {
    if (!changes_soon(epoch_, epoch)) epoch_.wait(epoch, std::memory_order_acquire);
    if (stopping_.load(std::memory_order_acquire)) return;
    if (!pinned_) placement_.settle(index);
    body_(context_, Share{index, count_}, inside_);
    end_.arrive_and_wait(index);
  }
}

ThreadPool& process_pool(unsigned count, bool pinned) {
  Pools& all = current_pools();
  const std::lock_guard<std::mutex> guard(all.guard);
  for (const std::unique_ptr<ThreadPool>& pool : all.by_count) {
    if (pool->count() == count && pool->pinned() == pinned) return *pool;
  }
  all.by_count.push_back(std::make_unique<ThreadPool>(count, pinned));
  return *all.by_count.back();
}

}  // namespace forge
