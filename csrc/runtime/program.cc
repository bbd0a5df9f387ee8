#include "runtime/program.h"

#include <algorithm>
#include <chrono>
#include <cstring>

namespace forge {
namespace {

constexpr std::size_t kAlignment = 64;  // no two steps share a cache line of arguments

std::int64_t now() noexcept {
  return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
}

void write_address(std::byte* field, std::byte* address) noexcept {
  std::memcpy(field, &address, sizeof(address));
}

struct Walk {
  std::span<const Step> steps;
  const std::byte* args;
  StepTimes* times;
};

void walk(void* context, Share share, Barrier& barrier) noexcept {
  const Walk& given = *static_cast<const Walk*>(context);
  bool first = true;  // a pool starts its threads together
  for (const Step& step : given.steps) {
    if (step.barrier && !first) barrier.arrive_and_wait(share.index);
    step.run(given.args + step.args_offset, share);
    first = false;
  }
}

void walk_timed(void* context, Share share, Barrier& barrier) noexcept {
  const Walk& given = *static_cast<const Walk*>(context);
  StepTimes* times = given.times + share.index;
  for (const Step& step : given.steps) {
    times->arrived = now();
    if (step.barrier) barrier.arrive_and_wait(share.index);
    times->started = now();
    step.run(given.args + step.args_offset, share);
    times->ended = now();
    times += share.count;
  }
}

}  // namespace

std::size_t Program::add(const Kernel& kernel, KernelFunction* run, std::span<const std::byte> args,
                         std::span<const Relocation> relocations, bool barrier) {
  const std::size_t offset = args_.size();
  args_.insert(args_.end(), args.begin(), args.end());
  args_.resize((args_.size() + kAlignment - 1) / kAlignment * kAlignment);
  for (Relocation relocation : relocations) {
    relocation.field_offset += offset;
    relocations_.push_back(relocation);
  }
  if (kernel.scratch_bytes != nullptr) {
    scratch_bytes_ = std::max(scratch_bytes_, kernel.scratch_bytes(args.data(), threads_));
  }
  steps_.push_back({&kernel, run, offset, barrier});
  return steps_.size() - 1;
}

Frame::Frame(const Program& program, std::byte* arena)
    : program_(program),
      scratch_(program.scratch_bytes()),
      args_(program.args().begin(), program.args().end()) {
  for (const Relocation& relocation : program.relocations()) {
    std::byte* const field = args_.data() + relocation.field_offset;
    switch (relocation.space) {
      case Space::arena:
        write_address(field, arena + relocation.offset);
        break;
      case Space::scratch:
        write_address(field, scratch_.data() + relocation.offset);
        break;
      case Space::status:
        write_address(field, reinterpret_cast<std::byte*>(&status_));
        break;
      case Space::external:
        if (externals_.size() <= relocation.index) externals_.resize(relocation.index + 1);
        externals_[relocation.index].push_back({relocation.field_offset, relocation.offset});
        break;
    }
  }
}

void Frame::bind(unsigned index, std::byte* address) noexcept {
  if (index >= externals_.size()) return;
  for (const External& external : externals_[index]) {
    write_address(args_.data() + external.field_offset, address + external.offset);
  }
}

int Frame::run(std::size_t begin, std::size_t end, StepTimes* times) {
  status_ = 0;
  Walk context{program_.steps().subspan(begin, end - begin), args_.data(), times};
  ThreadPool& pool = process_pool(program_.threads(), program_.pinned());
  pool.run(times == nullptr ? walk : walk_timed, &context);
  return status_;
}

}  // namespace forge
