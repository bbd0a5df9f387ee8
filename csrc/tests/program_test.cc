// Runs small programs with barriers from several threads at once; built with and without
// ThreadSanitizer by tests/native/test_thread_pool.py. Prints what failed and exits with 1.
#include "runtime/program.h"

#include <cstdio>
#include <span>
#include <thread>
#include <vector>

namespace {

using forge::Frame;
using forge::Kernel;
using forge::KernelFunction;
using forge::Program;
using forge::Range;
using forge::Relocation;
using forge::Share;
using forge::Space;
using forge::StepTimes;

constexpr std::size_t kCount = 37;
constexpr unsigned kThreads = 3;

// out[i] = x[i] + x[count - 1 - i] + 1: reads what another share wrote before.
struct Mirror {
  const long* x;
  long* out;
  long* sums;  // one a share, in the scratch memory
};

void mirror(const void* args, Share share) noexcept {
  const Mirror& a = *static_cast<const Mirror*>(args);
  const Range own = forge::split(kCount, share);
  long sum = 0;
  for (std::size_t i = own.begin; i < own.end; ++i) {
    a.out[i] = a.x[i] + a.x[kCount - 1 - i] + 1;
    sum += a.out[i];
  }
  a.sums[share.index] = sum;
}

std::size_t scratch_of(const void*, unsigned shares) noexcept { return shares * sizeof(long); }

const Kernel kMirror = {"mirror", sizeof(Mirror), {}, {}, scratch_of};

Relocation at(std::size_t field, Space space, unsigned index, std::size_t element) {
  return {field, space, index, static_cast<std::ptrdiff_t>(element * sizeof(long))};
}

// `steps` times there and back between two halves of the arena, from input 0 to output 1.
void build(Program& program, int steps) {
  for (int step = 0; step <= steps; ++step) {
    const std::size_t from = step % 2 == 0 ? kCount : 0, to = step % 2 == 0 ? 0 : kCount;
    const Relocation x = step == 0 ? at(offsetof(Mirror, x), Space::external, 0, 0)
                                   : at(offsetof(Mirror, x), Space::arena, 0, from);
    const Relocation out = step == steps ? at(offsetof(Mirror, out), Space::external, 1, 0)
                                         : at(offsetof(Mirror, out), Space::arena, 0, to);
    const Mirror empty{};
    const std::vector<Relocation> all = {x, out, at(offsetof(Mirror, sums), Space::scratch, 0, 0)};
    program.add(kMirror, mirror, std::as_bytes(std::span(&empty, 1)), all, step != 0);
  }
}

std::vector<long> expected(std::vector<long> x, int steps) {
  for (int step = 0; step <= steps; ++step) {
    std::vector<long> out(kCount);
    for (std::size_t i = 0; i < kCount; ++i) out[i] = x[i] + x[kCount - 1 - i] + 1;
    x = out;
  }
  return x;
}

// One caller's calls of one program, on a frame of its own. Returns how many were wrong.
int call(const Program& program, int steps, long seed, int calls) {
  std::vector<long> arena(2 * kCount), input(kCount), output(kCount);
  Frame frame(program, reinterpret_cast<std::byte*>(arena.data()));
  std::vector<StepTimes> times(program.steps().size() * program.threads());
  int wrong = 0;
  for (int i = 0; i < calls; ++i) {
    for (std::size_t at = 0; at < kCount; ++at) input[at] = seed + i + static_cast<long>(at);
    frame.bind(0, reinterpret_cast<std::byte*>(input.data()));
    frame.bind(1, reinterpret_cast<std::byte*>(output.data()));
    const int status = frame.run(0, program.steps().size(), i % 2 == 0 ? nullptr : times.data());
    wrong += status != 0 || output != expected(input, steps);
    for (const StepTimes& t : times) wrong += t.arrived > t.started || t.started > t.ended;
  }
  return wrong;
}

}  // namespace

int main() {
  Program shorter(kThreads, false), longer(kThreads, false);
  build(shorter, 3);
  build(longer, 8);
  std::vector<int> wrong(4);
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 4; ++caller) {
    callers.emplace_back([&, caller] {
      wrong[caller] =
          caller % 2 == 0 ? call(shorter, 3, 100 * caller, 40) : call(longer, 8, 100 * caller, 40);
    });
  }
  for (std::thread& caller : callers) caller.join();
  for (int count : wrong) {
    if (count == 0) continue;
    std::printf("failed: %d results or times are wrong\n", count);
    return 1;
  }
  std::printf("ok\n");
  return 0;
}
