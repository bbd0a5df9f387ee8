#include "kernels.h"

#include <cstring>

namespace aiesim {

bool ParameterPort::is_async() const noexcept {
  if (port_->sync_forced) return false;
  return port_->async || port_->direction == adf::direction::inout;
}

void ParameterPort::check_size(std::size_t bytes) const {
  if (bytes != port_->parameter.bytes) {
    reject("a run-time parameter of " + std::to_string(port_->parameter.bytes) +
               " bytes was given or read as " + std::to_string(bytes) + " bytes",
           port_->place);
  }
}

void ParameterPort::push(const void* value, std::size_t bytes) {
  check_size(bytes);
  const auto* from = static_cast<const std::byte*>(value);
  if (is_async()) incoming_.clear();
  incoming_.emplace_back(from, from + bytes);
  if (actor->wait == Wait::update) actor->wake();
}

void ParameterPort::fetch(Actor& self) {
  if (!connected) return;
  const bool may_keep = is_async() && (received_ || port_->direction == adf::direction::inout);
  while (incoming_.empty() && !may_keep) {
    self.block(Wait::update, nullptr, "in[" + std::to_string(port_->number) + "]");
  }
  if (incoming_.empty()) return;
  std::memcpy(port_->parameter.value, incoming_.front().data(), incoming_.front().size());
  incoming_.pop_front();
  received_ = true;
}

void ParameterPort::publish() {
  const auto* value = static_cast<const std::byte*>(port_->parameter.value);
  for (ParameterPort* target : targets) target->push(value, port_->parameter.bytes);
  if (!host_reads) return;
  if (is_async()) outgoing_.clear();
  outgoing_.emplace_back(value, value + port_->parameter.bytes);
}

bool ParameterPort::read(void* value, std::size_t bytes) {
  check_size(bytes);
  if (outgoing_.empty()) return false;
  std::memcpy(value, outgoing_.front().data(), bytes);
  if (!is_async()) outgoing_.pop_front();
  return true;
}

KernelActor::KernelActor(KernelNode& node, const Entry* entry) : Actor(node.name), entry_(entry) {
  kernel = &node;
  for (const auto* ports : {&node.inputs, &node.inouts}) {
    for (PortNode* port : *ports) {
      if (port->kind != PortKind::parameter) continue;
      parameters_.emplace_back(port).actor = this;
    }
  }
}

ParameterPort* KernelActor::parameter(const PortNode* port) {
  for (ParameterPort& p : parameters_) {
    if (p.port() == port) return &p;
  }
  return nullptr;
}

void KernelActor::body() {
  kernel->invoker->construct();
  if (entry_ != nullptr && entry_->initialization != nullptr) entry_->initialization();
  while (true) {
    if (done >= goal && !endless) {
      block(Wait::runs);
    } else if (tile.now() > engine().cycle_limit) {
      block(Wait::limit);
    } else {
      in_iteration = true;
      for (unsigned i = 0; i < kernel->repetitions; ++i) iterate();
      in_iteration = false;
      ++done;
    }
  }
}

void KernelActor::lock(bool acquire) {
  for (const auto* ports : {&kernel->inputs, &kernel->outputs}) {
    for (PortNode* port : *ports) {
      if (port->buffer == nullptr || port->async) continue;
      if (acquire) {
        port->buffer->acquire();
      } else {
        port->buffer->release();
      }
    }
  }
}

void KernelActor::iterate() {
  for (ParameterPort& p : parameters_) p.fetch(*this);
  lock(true);
  const double start = tile.now();
  if (busy_from < 0) busy_from = start, stalled_before = stalled;
  tile.wait_until(start + network_costs().call_cycles);
  kernel->invoker->invoke(entry_ == nullptr ? nullptr : entry_->function);
  lock(false);
  for (ParameterPort& p : parameters_) {
    if (p.port()->direction == adf::direction::inout) p.publish();
  }
  ended_at = tile.now();
  if (spans.size() < most_spans) spans.push_back({start, ended_at});
}

PortNode* running_port(adf::direction direction, PortKind kind, unsigned number) {
  Actor* actor = engine().running();
  if (actor == nullptr || actor->kernel == nullptr) fail("a port was used outside of a kernel");
  const auto& ports =
      direction == adf::direction::in ? actor->kernel->inputs : actor->kernel->outputs;
  unsigned left = number;
  for (PortNode* port : ports) {
    const bool same =
        port->kind == kind || (kind == PortKind::stream && port->kind == PortKind::packet);
    if (same && left-- == 0) return port;
  }
  fail("the kernel has no " + std::string(direction == adf::direction::in ? "input " : "output ") +
       (kind == PortKind::cascade ? "cascade" : "stream " + std::to_string(number)));
}

}  // namespace aiesim
