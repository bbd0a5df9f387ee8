// port, kernel: handles of the nodes of a graph.
#pragma once

#include <deque>
#include <string>

#include "aiesim/kernel.h"

namespace adf {

inline constexpr direction input = direction::in;
inline constexpr direction output = direction::out;

// A port of a graph, a kernel or a PLIO.
template <direction D>
class port {
 public:
  port() : node_(aiesim::new_port(D)) {}
  explicit port(aiesim::PortNode* node) : node_(node) {}
  aiesim::PortNode* node() const noexcept { return node_; }

 private:
  aiesim::PortNode* node_;
};

using input_port = port<direction::in>;
using output_port = port<direction::out>;
using inout_port = port<direction::inout>;

// The inputs, outputs or inouts of one owner.
template <direction D>
class port_list {
 public:
  port_list() = default;
  port_list(const std::vector<aiesim::PortNode*>& nodes, std::string owner)
      : owner_(std::move(owner)) {
    for (aiesim::PortNode* node : nodes) ports_.emplace_back(node);
  }

  port<D>& operator[](std::size_t index) {
    if (index >= ports_.size()) missing(index);
    return ports_[index];
  }
  std::size_t size() const noexcept { return ports_.size(); }
  auto begin() noexcept { return ports_.begin(); }
  auto end() noexcept { return ports_.end(); }

 private:
  [[noreturn]] void missing(std::size_t index) const {
    const char* kind = D == direction::in ? "in" : D == direction::out ? "out" : "inout";
    aiesim::reject(
        (owner_.empty() ? std::string("a kernel or PLIO that was not created") : owner_) + " has " +
            std::to_string(ports_.size()) + " '" + kind + "' port(s), but " + kind + "[" +
            std::to_string(index) + "] was used",
        {});
  }

  std::deque<port<D>> ports_;  // addresses stay
  std::string owner_;
};

// A parameter of a kernel class, for constraints on where it lies.
struct parameter_reference {};
struct parameter_list {
  parameter_reference& operator[](std::size_t) noexcept { return only; }
  parameter_reference only;
};

class kernel {
 public:
  kernel() = default;

  template <class Result, class... Args>
  static kernel create(Result (*function)(Args...),
                       std::source_location at = std::source_location::current()) {
    return kernel(
        aiesim::new_kernel(std::make_unique<aiesim::FunctionInvoker<Result, Args...>>(function),
                           aiesim::place_of(at)));
  }

  template <class T, class... Args>
  static kernel create_object(const Args&... args) {
    auto* factory = new aiesim::ObjectFactory<T, Args...>(args...);  // lives as long as the model
    aiesim::Registration now{factory, nullptr};
    aiesim::registration() = &now;
    T::registerKernelClass();
    aiesim::registration() = nullptr;
    if (now.invoker == nullptr) {
      aiesim::reject("registerKernelClass of a kernel class has no REGISTER_FUNCTION", {});
    }
    return kernel(aiesim::new_kernel(std::move(now.invoker), {}));
  }

  port_list<direction::in> in;
  port_list<direction::out> out;
  port_list<direction::inout> inout;
  parameter_list param;

  aiesim::KernelNode* node() const noexcept { return node_; }

 private:
  explicit kernel(aiesim::KernelNode* node)
      : in(node->inputs, "kernel " + std::to_string(node->number)),
        out(node->outputs, "kernel " + std::to_string(node->number)),
        inout(node->inouts, "kernel " + std::to_string(node->number)),
        node_(node) {}

  aiesim::KernelNode* node_ = nullptr;
};

// sync(port), async(port): whether each invocation waits for a new value or block.
template <direction D>
port<D>& async(port<D>& p) {
  p.node()->async = true;
  return p;
}
template <direction D>
port<D>& sync(port<D>& p) {
  p.node()->sync_forced = true;
  return p;
}

}  // namespace adf
