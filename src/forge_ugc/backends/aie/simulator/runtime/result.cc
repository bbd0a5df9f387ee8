#include "result.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>

#include "json.h"
#include "network.h"
#include "settings.h"

namespace aiesim {

namespace {

void write_file(const Json& json) {
  std::fflush(nullptr);
  if (!settings().result_file.empty()) std::ofstream(settings().result_file) << json.text();
}

void put_place(Json& json, Place place) {
  json.key("file").string(place.file == nullptr ? "" : place.file);
  json.key("line").integer(place.line);
}

void put_calls(Json& json, const std::vector<void*>& calls) {
  json.key("calls").open('[');
  for (void* call : calls) json.integer(reinterpret_cast<std::int64_t>(call) - 1);
  json.close(']');
}

const char* wait_text(Wait wait) {
  switch (wait) {
    case Wait::data:
      return "data";
    case Wait::room:
      return "room";
    case Wait::update:
      return "update";
    case Wait::runs:
      return "runs";
    case Wait::host_data:
      return "host_data";
    case Wait::file_end:
      return "file_end";
    case Wait::limit:
      return "limit";
    default:
      return "ended";
  }
}

struct PortCount {
  std::string port, peer;
  const char* unit;
  double count;
  double stall;
};

// Words, bytes or beats that passed at each port of an actor, and how long it waited there.
std::vector<PortCount> port_counts(const Actor* actor) {
  std::vector<PortCount> found;
  for (const auto& channel : network().channels) {
    const bool reads = channel->consumer == actor, writes = channel->producer == actor;
    if (!reads && !writes) continue;
    double count = 0;
    if (const auto* words = dynamic_cast<const WordReader*>(channel.get())) {
      count = static_cast<double>(words->words() + (writes ? words->fill() : 0));
    } else if (const auto* blocks = dynamic_cast<const BlockReader*>(channel.get())) {
      count = static_cast<double>(blocks->taken() + (writes ? blocks->unread() : 0));
    } else if (const auto* beats = dynamic_cast<const BeatReader*>(channel.get())) {
      count = static_cast<double>(beats->beats() + (writes ? beats->fill() : 0));
    }
    const std::string& full = reads ? channel->consumer_port : channel->producer_port;
    const auto dot = full.rfind('.');
    found.push_back({dot == std::string::npos ? full : full.substr(dot + 1),
                     reads ? channel->producer->name : channel->consumer->name, channel->unit,
                     count, reads ? channel->consumer_stall : channel->producer_stall});
  }
  return found;
}

void put_kernel(Json& json, const KernelActor& actor) {
  const KernelNode& node = *actor.kernel;
  json.open('{');
  json.key("name").string(actor.name);
  json.key("source").string(node.source);
  json.key("tile");
  if (node.tile.column < 0) {
    json.null();
  } else {
    json.open('[').integer(node.tile.column).integer(node.tile.row).close(']');
  }
  json.key("ratio").number(node.runtime_ratio);
  json.key("iterations").integer(actor.done);
  json.key("start").number(std::max(0.0, actor.busy_from));
  json.key("end").number(actor.ended_at);
  json.key("stalled").number(actor.stalled - actor.stalled_before);
  static constexpr const char* names[] = {"vector", "load", "store", "scalar", "move"};
  const Account& account = actor.tile.account;
  json.key("slots").open('{');
  for (std::size_t i = 0; i < slot_count; ++i) json.key(names[i]).number(account.slots[i]);
  json.close('}');
  json.key("prologue").number(account.prologue);
  json.key("loops").number(account.loops);
  json.key("macs").number(account.macs);
  json.key("narrowed_in_default_modes").number(account.narrowed_in_default_modes);
  json.key("stack_bytes").integer(static_cast<std::int64_t>(actor.fiber->deepest_bytes()));
  json.key("ports").open('[');
  for (const PortCount& p : port_counts(&actor)) {
    json.open('{').key("port").string(p.port).key("peer").string(p.peer);
    json.key("unit").string(p.unit).key("count").number(p.count);
    json.key("stall").number(p.stall).close('}');
  }
  json.close(']');
  json.key("spans").open('[');
  for (const KernelActor::Span& span : actor.spans) {
    json.open('[').number(span.start).number(span.end).close(']');
  }
  json.close(']').close('}');
}

void put_plio(Json& json, const IoNode& node, bool input, std::uint64_t words, std::uint64_t total,
              double first, double last, const std::vector<double>* times) {
  long iterations = 0;
  for (const KernelActor* k : network().kernels) iterations = std::max(iterations, k->done);
  json.open('{');
  json.key("name").string(node.name).key("file").string(node.file);
  json.key("input").boolean(input).key("bits").integer(node.bits);
  json.key("words").integer(static_cast<std::int64_t>(words));
  json.key("total_words").integer(static_cast<std::int64_t>(total));
  json.key("first").number(first).key("last").number(last);
  json.key("iteration_ends").open('[');
  if (times != nullptr && iterations > 0 && words > 0 && words % std::uint64_t(iterations) == 0) {
    const std::uint64_t share = words / std::uint64_t(iterations);
    for (long i = 1; i <= iterations && i <= 4096; ++i) json.number((*times)[i * share - 1]);
  }
  json.close(']').close('}');
}

void put_figures(Json& json) {
  json.key("clock_mhz").number(network_costs().clock_mhz);
  json.key("kernels").open('[');
  for (const KernelActor* actor : network().kernels) put_kernel(json, *actor);
  json.close(']');
  json.key("plios").open('[');
  for (const PlioSource* s : network().sources) {
    put_plio(json, *s->io, true, s->to.words(), s->total_words(), s->to.first_word, s->to.last_word,
             nullptr);
  }
  for (const PlioSink* s : network().sinks) {
    put_plio(json, *s->io, false, s->from->words(), s->from->words(), s->from->first_word,
             s->from->last_word, &s->times());
  }
  json.close(']');
}

void put_warnings(Json& json) {
  json.key("warnings").open('[');
  for (const PlioSource* s : network().sources) {
    const std::uint64_t left = s->total_words() - s->to.words();
    if (left != 0) {
      json.string("PLIO " + s->name + ": " + std::to_string(left) + " of " +
                  std::to_string(s->total_words()) + " words of " + s->io->file +
                  " were not taken");
    }
  }
  for (const auto& channel : network().channels) {
    const auto* blocks = dynamic_cast<const BlockReader*>(channel.get());
    const std::size_t left = blocks != nullptr ? blocks->unread() : channel->fill();
    if (left == 0) continue;
    json.string(std::to_string(left) + " " + channel->unit + " were not read from " +
                channel->name);
  }
  for (const KernelActor* actor : network().kernels) {
    for (const PortNode* port : actor->kernel->outputs) {
      if (port->stream_out == nullptr || port->stream_out->pending_bytes() == 0) continue;
      json.string(port_text(*port) + " holds " + std::to_string(port->stream_out->pending_bytes()) +
                  " bytes of a word that was never completed");
    }
  }
  json.close(']');
}

void begin(Json& json, std::string_view status) {
  json.open('{').key("version").integer(1).key("status").string(status);
}

}  // namespace

void write_result(int exit_code) {
  Json json;
  begin(json, "ok");
  json.key("exit_code").integer(exit_code);
  put_figures(json);
  put_warnings(json);
  write_file(json.close('}'));
}

void leave_with_stop(const Stop& stop) {
  Json json;
  begin(json, "stopped");
  json.key("cycle").boolean(stop.cycle).key("resolved").boolean(stop.resolved);
  json.key("chain").open('[');
  for (const Waiter& w : stop.chain) {
    json.open('{').key("actor").string(w.actor->name);
    json.key("kernel").boolean(w.actor->kernel != nullptr);
    json.key("source").string(w.actor->kernel != nullptr ? w.actor->kernel->source : "");
    json.key("iteration").integer(w.iteration);
    json.key("wait").string(wait_text(w.wait)).key("detail").string(w.detail);
    const Channel* c = w.channel;
    json.key("producer").string(c == nullptr ? "" : c->producer_port);
    json.key("consumer").string(c == nullptr ? "" : c->consumer_port);
    json.key("unit").string(c == nullptr ? "" : c->unit);
    json.key("fill").integer(static_cast<std::int64_t>(w.fill));
    json.key("depth").integer(static_cast<std::int64_t>(w.depth));
    put_place(json, c == nullptr ? Place{} : c->place);
    put_calls(json, w.calls);
    json.close('}');
  }
  json.close(']').key("deepened").open('[');
  for (const Channel* c : stop.deepened) {
    json.open('{').key("producer").string(c->producer_port);
    json.key("consumer").string(c->consumer_port);
    json.key("from").integer(static_cast<std::int64_t>(c->grown_from));
    json.key("to").integer(static_cast<std::int64_t>(c->depth()));
    put_place(json, c->place);
    json.close('}');
  }
  write_file(json.close(']').close('}'));
  std::_Exit(3);
}

void leave_with_fault(std::string_view status, std::string_view what, Place place,
                      const Actor* actor, const std::vector<void*>& calls) {
  Json json;
  begin(json, status);
  json.key("what").string(what).key("actor").string(actor == nullptr ? "" : actor->name);
  const bool kernel = actor != nullptr && actor->kernel != nullptr;
  json.key("source").string(kernel ? actor->kernel->source : "");
  put_place(json, place);
  put_calls(json, calls);
  write_file(json.close('}'));
  std::_Exit(3);
}

void leave_with_discovery() {
  Json json;
  begin(json, "discovered");
  json.key("kernels").open('[');
  for (const KernelNode* kernel : model().kernels) {
    json.open('{').key("source").string(kernel->source);
    json.key("function").integer(reinterpret_cast<std::int64_t>(kernel->invoker->function()));
    json.key("initialization").string(kernel->initialization);
    put_place(json, kernel->place);
    json.close('}');
  }
  write_file(json.close(']').close('}'));
  std::_Exit(0);
}

}  // namespace aiesim
