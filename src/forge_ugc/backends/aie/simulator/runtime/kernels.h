// Kernels as actors: iterations, locks around buffers, run-time parameters.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "engine.h"

namespace aiesim {

// What the loader found in the objects of one kernel instance.
struct Entry {
  void* function;
  void (*initialization)();
  const char* name;
};

// Values between the host and a kernel. A synchronous input gives one value to each invocation.
class ParameterPort {
 public:
  explicit ParameterPort(PortNode* port) : port_(port) {}
  PortNode* port() const noexcept { return port_; }
  bool is_async() const noexcept;
  void push(const void* value, std::size_t bytes);
  // Before an invocation: the kernel's copy gets the value; blocks the actor while there is none.
  void fetch(Actor& actor);
  // After an invocation: the value goes to the host and to the kernels that it is connected to.
  void publish();
  // The oldest value that was not read (synchronous) or the newest; false if there is none.
  bool read(void* value, std::size_t bytes);

  bool connected = false;
  bool host_reads = false;
  Actor* actor = nullptr;
  std::vector<ParameterPort*> targets;

 private:
  void check_size(std::size_t bytes) const;

  PortNode* port_;
  std::deque<std::vector<std::byte>> incoming_, outgoing_;
  bool received_ = false;
};

class KernelActor final : public Actor {
 public:
  KernelActor(KernelNode& node, const Entry* entry);
  void body() override;
  ParameterPort* parameter(const PortNode* port);

  struct Span {
    double start, end;
  };
  long goal = 0, done = 0;  // iterations
  bool endless = false;
  bool in_iteration = false;
  double busy_from = -1, ended_at = 0;
  double stalled_before = 0;  // until busy_from
  std::vector<Span> spans;    // of the first iterations
  static constexpr std::size_t most_spans = 4096;

 private:
  void iterate();
  void lock(bool acquire);

  const Entry* entry_;
  std::deque<ParameterPort> parameters_;
};

// The number-th port of a kind of the kernel that runs; fails if there is none.
PortNode* running_port(adf::direction direction, PortKind kind, unsigned number);

}  // namespace aiesim
