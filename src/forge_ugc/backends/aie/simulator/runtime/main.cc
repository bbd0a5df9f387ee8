// Entry of the program: runs the user's main, or every graph if there is none.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "aiesim/graph.h"
#include "network.h"
#include "result.h"
#include "settings.h"

#if defined(__x86_64__)
#include <ucontext.h>
#endif

// The main of the graph's file, renamed by the runner.
extern "C" int aiesim_user_main(int, char**) __attribute__((weak));

namespace aiesim {

void finish(int exit_code);

void fail(std::string_view what) {
  const Actor* actor = engine().running();
  std::vector<void*> calls;
  if (actor != nullptr) calls = actor->fiber->calls(__builtin_frame_address(0));
  leave_with_fault("failed", what, {}, actor, calls);
}

void reject(const std::string& what, Place place) {
  leave_with_fault("rejected", what, place, engine().running(), {});
}

namespace {

void on_signal(int number, siginfo_t* info, void* context) {
  const Actor* actor = engine().running();
  void* frame = nullptr;
  std::vector<void*> calls;
#if defined(__x86_64__)
  const auto* registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  frame = reinterpret_cast<void*>(registers[REG_RBP]);
  calls.push_back(reinterpret_cast<void*>(registers[REG_RIP] + 1));
#else
  static_cast<void>(context);
#endif
  std::string what = number == SIGFPE    ? "an integer division by zero"
                     : number == SIGABRT ? "the program aborted (a failed assert?)"
                     : number == SIGILL  ? "an instruction that this machine does not have"
                                         : "an access of memory that the program does not own";
  if (actor != nullptr) {
    const auto* base = static_cast<const std::byte*>(info->si_addr);
    const bool below =
        number == SIGSEGV && !actor->fiber->holds(base) && actor->fiber->holds(base + 8192);
    if (below) what = "the kernel's stack is deeper than the simulator's 1 MiB";
    if (frame != nullptr) {
      for (void* call : actor->fiber->calls(frame)) calls.push_back(call);
    }
  }
  leave_with_fault("failed", what, {}, actor, calls);
}

void catch_signals() {
  static std::byte stack[64 << 10];
  stack_t alternative{};
  alternative.ss_sp = stack;
  alternative.ss_size = sizeof(stack);
  sigaltstack(&alternative, nullptr);
  struct sigaction action{};
  action.sa_sigaction = on_signal;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  for (int number : {SIGSEGV, SIGBUS, SIGFPE, SIGABRT, SIGILL}) sigaction(number, &action, nullptr);
}

// Of a file without a main: every graph once, or as often as the runner says.
void run_all() {
  const std::vector<GraphNode*> graphs = model().graphs;
  if (graphs.empty()) reject("the file has no main and no graph", {});
  GraphNode* outermost = graphs.front();
  graph_init(outermost);
  graph_run(outermost, settings().iterations == 0 ? 1 : settings().iterations);
  graph_end(outermost);
}

bool finished = false;

void finish_once() {
  if (finished) return;
  finished = true;
  finish(0);
}

}  // namespace

}  // namespace aiesim

int main(int argc, char** argv) {
  using namespace aiesim;
  catch_signals();
  if (settings().discover && !model().kernels.empty()) leave_with_discovery();
  std::atexit(finish_once);  // the user's main may call exit
  int code = 0;
  if (aiesim_user_main != nullptr) {
    code = aiesim_user_main(argc, argv);
  } else {
    run_all();
  }
  if (settings().discover) leave_with_discovery();
  finished = true;
  finish(code);
  return code;
}
