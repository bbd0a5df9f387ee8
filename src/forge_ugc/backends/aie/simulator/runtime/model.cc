// The registry that the constructors of graphs fill.
#include "aiesim/model.h"

#include "aiesim/kernel.h"
#include "aiesim/plio.h"

namespace aiesim {

Model& model() {
  static auto* only = new Model;  // graphs are globals of other files: it must outlive them
  return *only;
}

Registration*& registration() noexcept {
  static Registration* now = nullptr;
  return now;
}

KernelNode* new_kernel(std::unique_ptr<Invoker> invoker, Place place) {
  auto* node = new KernelNode;
  node->number = static_cast<unsigned>(model().kernels.size());
  node->name = "kernel " + std::to_string(node->number);
  node->place = place;
  node->graph = model().graphs.empty() ? nullptr : model().graphs.back();
  invoker->describe(*node);
  node->invoker = std::move(invoker);
  model().kernels.push_back(node);
  return node;
}

IoNode* new_io(IoKind kind, std::string name, Place place) {
  auto* node = new IoNode;
  node->kind = kind;
  node->name = std::move(name);
  if (node->name.empty()) node->name = "io " + std::to_string(model().ios.size());
  node->place = place;
  model().ios.push_back(node);
  return node;
}

IoNode* new_plio(IoKind kind, const PlioSpec& spec, Place place) {
  IoNode* node = new_io(kind, spec.name.empty() ? spec.file : spec.name, place);
  node->file = spec.file;
  node->bits = spec.bits;
  node->frequency_mhz = spec.frequency_mhz;
  node->hex = spec.hex;
  add_io_port(node, kind == IoKind::plio_in ? adf::direction::out : adf::direction::in,
              PortKind::stream);
  return node;
}

PortNode* new_port(adf::direction direction) {
  auto* node = new PortNode;
  node->direction = direction;
  model().ports.push_back(node);
  return node;
}

PortNode* add_io_port(IoNode* io, adf::direction direction, PortKind kind) {
  PortNode* port = new_port(direction);
  port->io = io;
  port->kind = kind;
  auto& list = direction == adf::direction::in ? io->inputs : io->outputs;
  port->number = static_cast<unsigned>(list.size());
  list.push_back(port);
  return port;
}

NetNode* new_net(PortNode* from, PortNode* to, Transport source, Transport sink, Place place) {
  auto* net = new NetNode{from, to, source, sink, 0, place};
  model().nets.push_back(net);
  return net;
}

GraphNode* new_graph() {
  auto* graph = new GraphNode;
  graph->kernels_before = static_cast<unsigned>(model().kernels.size());
  model().graphs.push_back(graph);
  return graph;
}

}  // namespace aiesim
