#include "network.h"

#include <cstdlib>
#include <map>
#include <unordered_map>

#include "settings.h"

// Written by the runner: what belongs to each kernel instance. Absent while a graph is discovered.
extern "C" const aiesim::Entry aiesim_entries[] __attribute__((weak));
extern "C" const unsigned aiesim_entry_count __attribute__((weak));

namespace aiesim {

Network& network() {
  static auto* only = new Network;
  return *only;
}

std::string port_text(const PortNode& port) {
  const char* kind = port.direction == adf::direction::in    ? "in"
                     : port.direction == adf::direction::out ? "out"
                                                             : "inout";
  const std::string owner = port.kernel != nullptr ? port.kernel->name
                            : port.io != nullptr   ? port.io->name
                                                   : std::string("a port of a graph");
  if (port.io != nullptr && port.io->inputs.size() + port.io->outputs.size() == 1) return owner;
  return owner + "." + kind + "[" + std::to_string(port.number) + "]";
}

namespace {

bool is_terminal(const PortNode& port) { return port.kernel != nullptr || port.io != nullptr; }
bool is_block(const PortNode& port) {
  return port.kind == PortKind::buffer || port.kind == PortKind::window;
}

// A way from a terminal port to another, through ports of graphs.
struct Route {
  PortNode *from, *to;
  Transport source, sink;
  std::size_t fifo_words = 0;
  std::size_t elements = 0;  // by dimensions of a port on the way
  NetNode* net = nullptr;    // the last one, for messages
};

class Builder {
 public:
  void build();

 private:
  void add_kernels();
  void add_ios();
  void follow(PortNode* from, PortNode* at, Route route, std::vector<Route>& found);
  void connect_source(PortNode* from, const std::vector<Route>& routes);
  void connect_block_source(PortNode* from, const std::vector<Route>& data, Actor* producer);
  void connect_words(const Route& route, WordWriter& writer, Actor* producer);
  void connect_blocks(const Route& route, BlockWriter& writer, Actor* producer);
  void connect_cascade(const Route& route);
  void connect_parameter(const Route& route);
  void check_connected();
  std::size_t block_bytes(const PortNode& port, const Route& route, bool is_source) const;
  std::size_t margin_bytes(const PortNode& port, const Route& route) const;
  Element element_at(const PortNode* io_port, bool forward) const;
  double latency(const PortNode& from, const PortNode& to) const;
  Actor* actor_of(const PortNode& port) const;
  WordWriter* writer_of(PortNode* port, Actor* actor);
  void attach_reader(PortNode* port, WordReader* reader);
  template <class T>
  T* channel(std::unique_ptr<T> made, const Route& route, Actor* producer, Actor* consumer);

  std::unordered_map<const PortNode*, std::vector<NetNode*>> outgoing_;
  std::unordered_map<const PortNode*, std::vector<NetNode*>> incoming_;
  std::unordered_map<const PortNode*, bool> used_;
  std::map<const IoNode*, Actor*> io_actors_;
};

void Builder::build() {
  for (NetNode* net : model().nets) {
    outgoing_[net->from].push_back(net);
    incoming_[net->to].push_back(net);
  }
  add_kernels();
  add_ios();
  std::vector<PortNode*> sources;
  for (PortNode* port : model().ports) {
    const bool value_of_kernel = port->kind == PortKind::parameter && port->kernel != nullptr;
    const bool writes = port->direction != adf::direction::in;
    if ((is_terminal(*port) && writes) ||
        (!is_terminal(*port) && incoming_[port].empty() && !value_of_kernel)) {
      sources.push_back(port);
    }
  }
  for (PortNode* port : sources) {
    std::vector<Route> routes;
    follow(port, port, Route{port, nullptr, {}, {}}, routes);
    connect_source(port, routes);
  }
  check_connected();
}

void Builder::follow(PortNode* from, PortNode* at, Route route, std::vector<Route>& found) {
  for (NetNode* net : outgoing_[at]) {
    Route next = route;
    if (next.net == nullptr || next.source.kind == PortKind::none) next.source = net->source;
    if (net->sink.kind != PortKind::none) next.sink = net->sink;
    next.net = net;
    next.fifo_words += net->fifo_words;
    next.to = net->to;
    if (is_terminal(*net->to)) {
      found.push_back(next);
      continue;
    }
    if (net->to->elements != 0) next.elements = net->to->elements;
    if (net->to == from) reject("a port of a graph is connected to itself", net->place);
    follow(from, net->to, next, found);
    if (from->kind == PortKind::parameter && outgoing_[net->to].empty()) {
      found.push_back(next);  // a parameter that the host reads
    }
  }
}

void Builder::add_kernels() {
  std::map<std::string, unsigned> seen, total;
  for (KernelNode* node : model().kernels) {
    if (node->number < aiesim_entry_count) node->name = aiesim_entries[node->number].name;
    ++total[node->name];
  }
  for (KernelNode* node : model().kernels) {
    const Entry* entry =
        node->number < aiesim_entry_count ? &aiesim_entries[node->number] : nullptr;
    if (total[node->name] > 1) {
      const std::string base = node->name;
      node->name += "#" + std::to_string(seen[base]++);
    }
    auto actor = std::make_unique<KernelActor>(*node, entry);
    network().kernels.push_back(actor.get());
    engine().add(std::move(actor));
  }
}

Element Builder::element_at(const PortNode* port, bool forward) const {
  const auto& nets = forward ? outgoing_ : incoming_;
  const auto found = nets.find(port);
  if (found == nets.end()) return Element::none;
  for (const NetNode* net : found->second) {
    const PortNode* other = forward ? net->to : net->from;
    if (other->kernel != nullptr && other->element != Element::none) return other->element;
    const Element further = element_at(other, forward);
    if (further != Element::none) return further;
  }
  return Element::none;
}

void Builder::add_ios() {
  for (IoNode* node : model().ios) {
    std::unique_ptr<Actor> actor;
    const bool is_source = node->kind == IoKind::plio_in || node->kind == IoKind::gmio_in;
    Element element = Element::none;
    if (is_source) {
      element = element_at(node->outputs.front(), true);
    } else if (node->kind == IoKind::plio_out || node->kind == IoKind::gmio_out) {
      element = element_at(node->inputs.front(), false);
    }
    if (element == Element::none || element == Element::opaque) element = Element::i32;
    if (node->kind == IoKind::plio_in) {
      if (outgoing_[node->outputs.front()].empty()) continue;  // left over
      auto source = std::make_unique<PlioSource>(*node, element);
      network().sources.push_back(source.get());
      actor = std::move(source);
    } else if (node->kind == IoKind::plio_out) {
      if (incoming_[node->inputs.front()].empty()) continue;
      auto sink = std::make_unique<PlioSink>(*node, element);
      network().sinks.push_back(sink.get());
      actor = std::move(sink);
    } else if (node->kind == IoKind::gmio_in) {
      auto source = std::make_unique<GmioSource>(node->name);
      node->engine = source.get();
      actor = std::move(source);
    } else if (node->kind == IoKind::gmio_out) {
      auto sink = std::make_unique<GmioSink>(node->name);
      node->engine = sink.get();
      actor = std::move(sink);
    } else if (node->kind == IoKind::split) {
      actor = std::make_unique<PacketSplit>(node->name, node->outputs.size());
    } else {
      actor = std::make_unique<PacketMerge>(node->name, node->inputs.size());
    }
    actor->io = node;
    io_actors_[node] = actor.get();
    engine().add(std::move(actor));
  }
}

Actor* Builder::actor_of(const PortNode& port) const {
  if (port.kernel != nullptr) return network().kernels[port.kernel->number];
  return io_actors_.at(port.io);
}

WordWriter* Builder::writer_of(PortNode* port, Actor* actor) {
  if (port->kernel != nullptr) {
    network().writers.push_back(std::make_unique<WordWriter>());
    port->stream_out->attach(network().writers.back().get());
    return network().writers.back().get();
  }
  switch (port->io->kind) {
    case IoKind::plio_in:
      return &static_cast<PlioSource*>(actor)->to;
    case IoKind::gmio_in:
      return &static_cast<GmioSource*>(actor)->to;
    case IoKind::split:
      return &static_cast<PacketSplit*>(actor)->to[port->number];
    default:
      return &static_cast<PacketMerge*>(actor)->to;
  }
}

void Builder::attach_reader(PortNode* port, WordReader* reader) {
  if (port->kernel != nullptr) {
    port->stream_in->attach(reader);
    return;
  }
  Actor* actor = io_actors_.at(port->io);
  switch (port->io->kind) {
    case IoKind::plio_out:
      static_cast<PlioSink*>(actor)->from = reader;
      break;
    case IoKind::gmio_out:
      static_cast<GmioSink*>(actor)->from = reader;
      break;
    case IoKind::split:
      static_cast<PacketSplit*>(actor)->from = reader;
      break;
    default:
      static_cast<PacketMerge*>(actor)->from[port->number] = reader;
  }
}

template <class T>
T* Builder::channel(std::unique_ptr<T> made, const Route& route, Actor* producer, Actor* consumer) {
  T* found = made.get();
  found->producer = producer;
  found->consumer = consumer;
  found->producer_port = port_text(*route.from);
  found->consumer_port = port_text(*route.to);
  found->name = found->producer_port + " -> " + found->consumer_port;
  found->place = route.net->place;
  found->net = route.net;
  network().channels.push_back(std::move(made));
  return found;
}

double Builder::latency(const PortNode& from, const PortNode& to) const {
  const NetworkCosts& costs = network_costs();
  const auto tile = [](const PortNode& p) {
    return p.kernel != nullptr ? p.kernel->tile : TilePlace{};
  };
  const TilePlace a = tile(from), b = tile(to);
  double hops = costs.stream_hops;
  if (a.column >= 0 && b.column >= 0) {
    hops = std::abs(a.column - b.column) + std::abs(a.row - b.row) + 1;
  } else if (a.column >= 0 || b.column >= 0) {
    hops = std::max(a.row, b.row) + 2;  // from the interface below its column
  }
  return hops * costs.stream_hop_cycles;
}

std::size_t Builder::block_bytes(const PortNode& port, const Route& route, bool is_source) const {
  if (port.elements != 0) return port.elements * port.element_bytes;
  const Transport& own = is_source ? route.source : route.sink;
  const Transport& other = is_source ? route.sink : route.source;
  if (own.bytes != 0) return own.bytes;
  if (route.elements != 0) return route.elements * port.element_bytes;
  const PortNode& peer = is_source ? *route.to : *route.from;
  if (is_block(peer) && peer.elements != 0) return peer.elements * peer.element_bytes;
  if (other.bytes != 0) return other.bytes;
  reject("the size of the buffer " + port_text(port) + " is not known; give dimensions(" +
             (port.direction == adf::direction::in ? "k.in[" : "k.out[") +
             std::to_string(port.number) + "]) = {elements}, or extents in its signature",
         route.net->place);
}

std::size_t Builder::margin_bytes(const PortNode& port, const Route& route) const {
  if (port.margin_elements != 0) return port.margin_elements * port.element_bytes;
  return route.sink.margin_bytes;
}

void Builder::connect_source(PortNode* from, const std::vector<Route>& routes) {
  for (const Route& route : routes) {
    bool& driven = used_[route.to];
    if (driven && route.to->kind != PortKind::parameter && is_terminal(*route.to)) {
      reject(port_text(*route.to) + " is driven by two connections", route.net->place);
    }
    driven = true;
    used_[from] = true;
    const bool parameter =
        route.to->kind == PortKind::parameter || from->kind == PortKind::parameter;
    const bool cascade = route.to->kind == PortKind::cascade || from->kind == PortKind::cascade;
    if (cascade && route.to->kind != from->kind) {
      reject(port_text(*from) + " -> " + port_text(*route.to) +
                 ": a cascade connects to a cascade only",
             route.net->place);
    }
    if (parameter) connect_parameter(route);
    if (cascade) connect_cascade(route);
    if (!parameter && !is_terminal(*from)) {
      reject(
          "an input of a graph is connected to " + port_text(*route.to) + ", but nothing drives it",
          route.net->place);
    }
  }
  std::vector<Route> data;
  for (const Route& r : routes) {
    const bool other = r.to->kind == PortKind::parameter || r.to->kind == PortKind::cascade ||
                       from->kind == PortKind::parameter || from->kind == PortKind::cascade;
    if (!other) data.push_back(r);
  }
  if (data.empty()) return;
  Actor* producer = actor_of(*from);
  if (is_block(*from)) {
    connect_block_source(from, data, producer);
    return;
  }
  WordWriter* writer = writer_of(from, producer);
  for (const Route& route : data) connect_words(route, *writer, producer);
}

void Builder::connect_block_source(PortNode* from, const std::vector<Route>& data,
                                   Actor* producer) {
  const std::size_t bytes = block_bytes(*from, data.front(), true);
  network().block_writers.push_back(std::make_unique<BlockWriter>(bytes));
  BlockWriter& writer = *network().block_writers.back();
  from->buffer->attach(&writer, bytes);
  std::vector<Route> streams;
  for (const Route& route : data) {
    if (is_block(*route.to)) {
      connect_blocks(route, writer, producer);
    } else {
      streams.push_back(route);
    }
  }
  if (streams.empty()) return;
  const bool merged =
      streams.front().to->io != nullptr && streams.front().to->io->kind == IoKind::merge;
  auto dma = std::make_unique<BufferToStream>("DMA of " + port_text(*from),
                                              merged ? int(streams.front().to->number) : -1);
  const std::size_t buffers = from->single_buffer ? 1 : 2;
  BlockReader* reader = channel(std::make_unique<BlockReader>(bytes, bytes, 0, buffers),
                                streams.front(), producer, dma.get());
  reader->consumer_port = dma->name;
  reader->name = reader->producer_port + " -> its DMA";
  writer.readers.push_back(reader);
  dma->from = reader;
  for (const Route& route : streams) connect_words(route, dma->to, dma.get());
  engine().add(std::move(dma));
}

void Builder::connect_words(const Route& route, WordWriter& writer, Actor* producer) {
  const auto usual = static_cast<std::size_t>(network_costs().stream_depth_words);
  auto made = std::make_unique<WordReader>(std::max(usual, route.fifo_words),
                                           latency(*route.from, *route.to));
  const bool from_split = route.from->io != nullptr && route.from->io->kind == IoKind::split;
  const bool to_merge = route.to->io != nullptr && route.to->io->kind == IoKind::merge;
  if (from_split) made->packet_id = static_cast<int>(route.from->number);
  if (to_merge) made->packet_id = static_cast<int>(route.to->number);
  if (!is_block(*route.to)) {
    WordReader* reader = channel(std::move(made), route, producer, actor_of(*route.to));
    writer.readers.push_back(reader);
    attach_reader(route.to, reader);
    return;
  }
  const std::size_t bytes = block_bytes(*route.to, route, false);
  const std::size_t margin = margin_bytes(*route.to, route);
  auto dma = std::make_unique<StreamToBuffer>("DMA of " + port_text(*route.to), bytes, from_split);
  WordReader* reader = channel(std::move(made), route, producer, dma.get());
  reader->consumer_port = dma->name;
  writer.readers.push_back(reader);
  dma->from = reader;
  Actor* consumer = actor_of(*route.to);
  const std::size_t buffers = route.to->single_buffer ? 1 : 2;
  BlockReader* blocks = channel(std::make_unique<BlockReader>(bytes, bytes, margin, buffers), route,
                                dma.get(), consumer);
  blocks->producer_port = dma->name;
  blocks->name = "its DMA -> " + blocks->consumer_port;
  dma->to.readers.push_back(blocks);
  route.to->buffer->attach(blocks, bytes, margin);
  engine().add(std::move(dma));
}

void Builder::connect_blocks(const Route& route, BlockWriter& writer, Actor* producer) {
  const std::size_t taken = block_bytes(*route.to, route, false);
  const std::size_t margin = margin_bytes(*route.to, route);
  const bool single = route.from->single_buffer || route.to->single_buffer;
  auto made = std::make_unique<BlockReader>(writer.block_bytes(), taken, margin, single ? 1 : 2);
  made->add_capacity(4 * route.fifo_words);
  BlockReader* reader = channel(std::move(made), route, producer, actor_of(*route.to));
  writer.readers.push_back(reader);
  route.to->buffer->attach(reader, taken, margin);
}

void Builder::connect_cascade(const Route& route) {
  BeatReader* reader =
      channel(std::make_unique<BeatReader>(), route, actor_of(*route.from), actor_of(*route.to));
  network().beat_writers.push_back(std::make_unique<BeatWriter>());
  network().beat_writers.back()->reader = reader;
  route.from->cascade_out->attach(network().beat_writers.back().get());
  route.to->cascade_in->attach(reader);
}

void Builder::connect_parameter(const Route& route) {
  ParameterPort* to = nullptr;
  if (route.to->kernel != nullptr) {
    to = network().kernels[route.to->kernel->number]->parameter(route.to);
    to->connected = true;
  }
  if (route.from->kernel == nullptr) return;  // the host updates it
  ParameterPort* from = network().kernels[route.from->kernel->number]->parameter(route.from);
  from->connected = true;
  if (to != nullptr) {
    from->targets.push_back(to);
  } else {
    from->host_reads = true;
  }
}

void Builder::check_connected() {
  for (KernelNode* kernel : model().kernels) {
    for (const auto* ports : {&kernel->inputs, &kernel->outputs}) {
      for (PortNode* port : *ports) {
        if (port->kind == PortKind::parameter || used_[port]) continue;
        reject(port_text(*port) + " is not connected", kernel->place);
      }
    }
  }
}

}  // namespace

void build_network() {
  if (network().built) return;
  network().built = true;
  Builder().build();
}

}  // namespace aiesim
