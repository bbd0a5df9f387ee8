// What the host calls of a graph do: they let the actors run, and say why one did not finish.
#include <algorithm>
#include <cstdlib>
#include <set>

#include "aiesim/event.h"
#include "aiesim/graph.h"
#include "network.h"
#include "result.h"
#include "settings.h"

namespace aiesim {

namespace {

// The kernels between this top-level graph and the next one; those of subgraphs are among them.
std::vector<KernelActor*> kernels_of(const GraphNode* graph) {
  unsigned end = static_cast<unsigned>(model().kernels.size());
  bool after = false;
  for (const GraphNode* other : model().graphs) {
    if (after && other->initialized) {
      end = other->kernels_before;
      break;
    }
    if (other == graph) after = true;
  }
  const auto& all = network().kernels;
  return {all.begin() + graph->kernels_before, all.begin() + end};
}

// Who an actor waits for; null if that is not another actor.
const Actor* awaited(const Actor* actor) {
  if (actor->wait_channel == nullptr) return nullptr;
  if (actor->wait == Wait::data) return actor->wait_channel->producer;
  if (actor->wait == Wait::room) return actor->wait_channel->consumer;
  return nullptr;
}

Waiter waiter_of(const Actor* actor) {
  const Channel* channel = actor->wait_channel;
  const auto* kernel = dynamic_cast<const KernelActor*>(actor);
  return {actor,
          actor->wait,
          channel,
          actor->wait_detail,
          channel == nullptr ? 0 : channel->fill(),
          channel == nullptr ? 0 : channel->depth(),
          actor->fiber->calls(),
          kernel == nullptr ? -1 : kernel->done};
}

// The way from an actor along what each one waits for: to a cycle, which alone is kept, or an end.
std::vector<const Actor*> follow(const Actor* from, bool& cycle) {
  std::vector<const Actor*> path;
  for (const Actor* at = from; at != nullptr; at = awaited(at)) {
    const auto seen = std::find(path.begin(), path.end(), at);
    if (seen != path.end()) {
      cycle = true;
      return {seen, path.end()};
    }
    path.push_back(at);
  }
  cycle = false;
  return path;
}

std::vector<const Actor*> worst_chain(const std::vector<KernelActor*>& stuck, bool& cycle) {
  std::vector<const Actor*> first;
  for (const KernelActor* kernel : stuck) {
    std::vector<const Actor*> path = follow(kernel, cycle);
    if (cycle) return path;
    if (first.empty()) first = path;
  }
  cycle = false;
  return first;
}

std::vector<KernelActor*> stuck_kernels(const std::vector<KernelActor*>& kernels) {
  std::vector<KernelActor*> stuck;
  for (KernelActor* kernel : kernels) {
    const bool finished = kernel->wait == Wait::runs || kernel->wait == Wait::limit;
    if (!finished) stuck.push_back(kernel);
  }
  return stuck;
}

// Deepens the shallowest full FIFO of each cycle until the graph ends (Parks 1995, section 4.3).
void deepen(const std::vector<KernelActor*>& kernels, Stop& stop) {
  std::set<const Channel*> seen;
  for (int round = 0; round < 100000; ++round) {
    const std::vector<KernelActor*> stuck = stuck_kernels(kernels);
    bool cycle = false;
    const std::vector<const Actor*> path = worst_chain(stuck, cycle);
    if (!cycle) {
      stop.resolved = std::none_of(stuck.begin(), stuck.end(),
                                   [](const KernelActor* k) { return !k->endless; });
      return;
    }
    Channel* shallowest = nullptr;
    for (const Actor* actor : path) {
      if (actor->wait != Wait::room || actor->wait_channel->net == nullptr) continue;
      Channel* channel = actor->wait_channel;
      if (dynamic_cast<WordReader*>(channel) == nullptr) continue;
      if (shallowest == nullptr || channel->depth() < shallowest->depth()) shallowest = channel;
    }
    if (shallowest == nullptr || !shallowest->grow()) return;
    if (seen.insert(shallowest).second) stop.deepened.push_back(shallowest);
    shallowest->producer->wake();
    engine().settle();
  }
}

void save_outputs() {
  for (const PlioSink* sink : network().sinks) sink->save();
}

// Ends the run if kernels are stuck that should have finished, or wait for each other.
void check_finished(const std::vector<KernelActor*>& kernels) {
  std::vector<KernelActor*> stuck = stuck_kernels(kernels);
  bool cycle = false;
  std::vector<const Actor*> path = worst_chain(stuck, cycle);
  if (!cycle) {
    // A graph without end stops where its input ends; that is no fault.
    std::erase_if(stuck, [](const KernelActor* k) { return k->endless; });
    if (stuck.empty()) return;
    path = worst_chain(stuck, cycle);
  }
  Stop stop;
  stop.cycle = cycle;
  for (const Actor* actor : path) stop.chain.push_back(waiter_of(actor));
  save_outputs();
  if (cycle) deepen(kernels, stop);
  leave_with_stop(stop);
}

void need_network(const GraphNode* graph, const char* what) {
  if (!graph->initialized) reject(std::string(what) + " before graph.init()", {});
}

// The parameters of kernels that a port leads to, or (for values that come out) from.
void collect(const PortNode* port, bool forward, std::vector<ParameterPort*>& found) {
  if (port->kernel != nullptr) {
    ParameterPort* p = network().kernels[port->kernel->number]->parameter(port);
    if (p != nullptr) found.push_back(p);
    return;
  }
  for (const NetNode* net : model().nets) {
    if ((forward ? net->from : net->to) == port) {
      collect(forward ? net->to : net->from, forward, found);
    }
  }
}

}  // namespace

void graph_init(GraphNode* graph) {
  if (settings().discover) leave_with_discovery();
  graph->initialized = true;
  build_network();
}

void graph_run(GraphNode* graph, long iterations) {
  need_network(graph, "graph.run()");
  if (settings().iterations != 0) iterations = settings().iterations;
  for (KernelActor* kernel : kernels_of(graph)) {
    if (iterations < 0) {
      kernel->endless = true;
    } else {
      kernel->goal = kernel->done + iterations + (kernel->in_iteration ? 1 : 0);
    }
    if (kernel->wait == Wait::runs) kernel->wake();
  }
  engine().settle();
}

void graph_wait(GraphNode* graph) {
  need_network(graph, "graph.wait()");
  engine().settle();
  check_finished(kernels_of(graph));
}

void graph_wait_cycles(GraphNode* graph, unsigned long cycles) {
  need_network(graph, "graph.wait()");
  double now = 0;
  for (const auto& actor : engine().actors()) now = std::max(now, actor->tile.now());
  engine().cycle_limit = now + static_cast<double>(cycles);
  for (const auto& actor : engine().actors()) {
    if (actor->wait == Wait::limit) actor->wake();
  }
  engine().settle();
}

void graph_end(GraphNode* graph) { graph_wait(graph); }

void parameter_update(PortNode* port, const void* value, std::size_t bytes) {
  if (!network().built) reject("graph.update() before graph.init()", port->place);
  std::vector<ParameterPort*> found;
  collect(port, true, found);
  if (found.empty()) collect(port, false, found);
  if (found.empty()) {
    reject("graph.update(): the port leads to no run-time parameter of a kernel", port->place);
  }
  for (ParameterPort* p : found) p->push(value, bytes);
  engine().settle();
}

void parameter_read(PortNode* port, void* value, std::size_t bytes) {
  if (!network().built) reject("graph.read() before graph.init()", port->place);
  std::vector<ParameterPort*> found;
  collect(port, false, found);
  engine().settle();
  if (found.empty() || found.front()->port()->direction != adf::direction::inout) {
    reject("graph.read(): the port comes from no run-time parameter of a kernel", port->place);
  }
  if (!found.front()->read(value, bytes)) {
    reject("graph.read(): " + port_text(*found.front()->port()) +
               " has no value that was not read; its kernel has not run since",
           port->place);
  }
}

void gmio_send(IoNode* io, const void* data, std::size_t bytes) {
  if (io->engine == nullptr)
    reject("GMIO " + io->name + " was used before graph.init()", io->place);
  static_cast<GmioSource*>(io->engine)->send(data, bytes);
}

void gmio_receive(IoNode* io, void* data, std::size_t bytes) {
  if (io->engine == nullptr)
    reject("GMIO " + io->name + " was used before graph.init()", io->place);
  static_cast<GmioSink*>(io->engine)->receive(data, bytes);
}

void gmio_wait(IoNode* io) {
  if (io->engine == nullptr)
    reject("GMIO " + io->name + " was used before graph.init()", io->place);
  engine().settle();
  const bool idle = io->kind == IoKind::gmio_in ? static_cast<GmioSource*>(io->engine)->idle()
                                                : static_cast<GmioSink*>(io->engine)->idle();
  if (idle) return;
  Stop stop;
  std::vector<const Actor*> path = follow(static_cast<Actor*>(io->engine), stop.cycle);
  for (const Actor* actor : path) stop.chain.push_back(waiter_of(actor));
  leave_with_stop(stop);
}

void* gmio_malloc(std::size_t bytes) { return std::aligned_alloc(128, (bytes + 127) / 128 * 128); }

void gmio_free(void* memory) { std::free(memory); }

namespace {

struct Measured {
  double first = -1, last = -1;
  std::uint64_t words = 0;
};

Measured measure(const IoNode* io) {
  for (const PlioSource* s : network().sources) {
    if (s->io == io) return {s->to.first_word, s->to.last_word, s->to.words()};
  }
  for (const PlioSink* s : network().sinks) {
    if (s->io == io) return {s->from->first_word, s->from->last_word, s->from->words()};
  }
  return {};
}

struct Handle {
  Profile what;
  const IoNode *first, *second;
};
std::vector<Handle>& handles() {
  static std::vector<Handle> all;
  return all;
}

}  // namespace

int profile_start(Profile what, const IoNode* first, const IoNode* second, long) {
  handles().push_back({what, first, second});
  return static_cast<int>(handles().size()) - 1;
}

long long profile_read(int handle) {
  if (handle < 0 || handle >= static_cast<int>(handles().size())) return -1;
  engine().settle();
  const Handle& h = handles()[static_cast<std::size_t>(handle)];
  const Measured a = measure(h.first);
  if (h.what == Profile::running_count) return static_cast<long long>(a.words);
  if (h.what == Profile::start_difference) {
    const Measured b = measure(h.second);
    return b.first < 0 || a.first < 0 ? -1 : static_cast<long long>(b.first - a.first);
  }
  return a.first < 0 ? -1 : static_cast<long long>(a.last - a.first) + 1;
}

void finish(int exit_code) {
  if (!network().built) return;
  engine().settle();
  check_finished(network().kernels);
  save_outputs();
  write_result(exit_code);
}

}  // namespace aiesim
