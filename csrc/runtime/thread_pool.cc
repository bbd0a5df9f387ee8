#include "runtime/thread_pool.h"

#include <pthread.h>
#include <sched.h>

#include <chrono>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace forge {
namespace {

using std::chrono::microseconds;

// 10 to 50 microseconds on current processors: longer than the gap between two instructions.
constexpr int kSpins = 400;

// After that, how long a thread offers its processor to others before it parks. Waking it again
// takes tens of microseconds, so inside a program it hardly ever parks; an idle process is idle
// before anyone would notice its load.
constexpr microseconds kInside{2000}, kBetween{200};

void pause_briefly() noexcept {
#if defined(__x86_64__)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Returns whether that took longer than spinning lasts.
bool wait_while(const std::atomic<std::uint32_t>& value, std::uint32_t old,
                microseconds patience) noexcept {
  for (int spin = 0; spin < kSpins; ++spin) {
    if (value.load(std::memory_order_acquire) != old) return false;
    pause_briefly();
  }
  using Clock = std::chrono::steady_clock;
  for (const auto end = Clock::now() + patience; Clock::now() < end;) {
    // What is waited for may be waiting for this very processor.
    std::this_thread::yield();
    if (value.load(std::memory_order_acquire) != old) return true;
  }
  value.wait(old, std::memory_order_acquire);
  return true;
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
  } else if (wait_while(phase_, phase, kInside) && placement_ != nullptr) {
    placement_->settle(index);
  }
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
    wait_while(epoch_, epoch, kBetween);
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
