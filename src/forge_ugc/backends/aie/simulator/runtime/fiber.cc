#include "fiber.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <utility>

#if !defined(__x86_64__)
#include <ucontext.h>
#endif

namespace aiesim {

namespace {

constexpr std::size_t guard_bytes = 4096;
constexpr unsigned char paint = 0xa5;  // marks stack that was never used
constexpr std::size_t painted_bytes = std::size_t{192} << 10;

std::byte* new_stack() {
  void* memory = mmap(nullptr, Fiber::stack_bytes + guard_bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED || mprotect(memory, guard_bytes, PROT_NONE) != 0) {
    std::fputs("aiesim: no memory for the stack of a kernel\n", stderr);
    std::abort();
  }
  auto* stack = static_cast<std::byte*>(memory) + guard_bytes;
  __builtin_memset(stack + Fiber::stack_bytes - painted_bytes, paint, painted_bytes);
  return stack;
}

}  // namespace

#if defined(__x86_64__)

// Saves the registers that a call keeps, and the stack pointer in *save; continues at `load`.
extern "C" void aiesim_switch(void** save, void* load);
asm(R"(
.text
.globl aiesim_switch
.hidden aiesim_switch
.type aiesim_switch, @function
aiesim_switch:
  endbr64
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size aiesim_switch, .-aiesim_switch
)");

struct Fiber::Context {
  void (*entry)(void*);
  void* argument;
  void* own = nullptr;     // stack pointer while suspended
  void* caller = nullptr;  // stack pointer of who resumed
};

namespace {
thread_local void* starting = nullptr;
}

struct FiberStart {
  static void begin() {
    auto* context = static_cast<std::pair<void (*)(void*), void*>*>(starting);
    context->first(context->second);
    std::abort();  // an entry never returns
  }
};

Fiber::Fiber(void (*entry)(void*), void* argument)
    : stack_(new_stack()), context_(new Context{entry, argument}) {
  // As if suspended at the start of begin: six registers, the return address, a zero above. A
  // function starts with its stack 8 bytes off a multiple of 16.
  auto* top = reinterpret_cast<void**>(stack_ + stack_bytes);
  *--top = nullptr;
  *--top = reinterpret_cast<void*>(&FiberStart::begin);
  for (int i = 0; i < 6; ++i) *--top = nullptr;
  context_->own = top;
}

void Fiber::resume() {
  starting = context_;
  aiesim_switch(&context_->caller, context_->own);
}

void Fiber::suspend() { aiesim_switch(&context_->own, context_->caller); }

#else

struct Fiber::Context {
  void (*entry)(void*);
  void* argument;
  ucontext_t own, caller;
};

namespace {
thread_local void* starting = nullptr;
void begin() {
  auto* context = static_cast<std::pair<void (*)(void*), void*>*>(starting);
  context->first(context->second);
  std::abort();
}
}  // namespace

Fiber::Fiber(void (*entry)(void*), void* argument)
    : stack_(new_stack()), context_(new Context{entry, argument, {}, {}}) {
  getcontext(&context_->own);
  context_->own.uc_stack.ss_sp = stack_;
  context_->own.uc_stack.ss_size = stack_bytes;
  context_->own.uc_link = nullptr;
  makecontext(&context_->own, begin, 0);
}

void Fiber::resume() {
  starting = context_;
  swapcontext(&context_->caller, &context_->own);
}

void Fiber::suspend() { swapcontext(&context_->own, &context_->caller); }

#endif

Fiber::~Fiber() {
  munmap(stack_ - guard_bytes, stack_bytes + guard_bytes);
  delete context_;
}

bool Fiber::holds(const void* address) const noexcept {
  const auto* byte = static_cast<const std::byte*>(address);
  return byte >= stack_ && byte < stack_ + stack_bytes;
}

std::vector<void*> Fiber::calls(void* frame) const {
  std::vector<void*> found;
#if defined(__x86_64__)
  if (frame == nullptr) {
    auto* saved = static_cast<void**>(context_->own);
    found.push_back(saved[6]);
    frame = saved[5];
  }
#endif
  // The frames are linked, as everything is compiled with frame pointers.
  while (holds(frame) && found.size() < 64) {
    auto* slots = static_cast<void**>(frame);
    if (slots[1] == nullptr) break;
    found.push_back(slots[1]);
    if (slots[0] <= frame) break;
    frame = slots[0];
  }
  return found;
}

std::size_t Fiber::deepest_bytes() const {
  const std::byte* byte = stack_ + stack_bytes - painted_bytes;
  const std::byte* end = stack_ + stack_bytes;
  while (byte < end && *byte == std::byte{paint}) ++byte;
  return static_cast<std::size_t>(end - byte);
}

}  // namespace aiesim
