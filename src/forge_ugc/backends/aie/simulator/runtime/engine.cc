#include "engine.h"

#include <cstdlib>

namespace aiesim {

Engine& engine() {
  static auto* only = new Engine;  // outlives the globals of the graph
  return *only;
}

NetworkCosts& network_costs() {
  static NetworkCosts costs;
  return costs;
}

namespace {

void start(void* actor) {
  auto* self = static_cast<Actor*>(actor);
  self->body();
  self->block(Wait::ended);
  std::abort();  // nothing wakes an actor that ended
}

}  // namespace

Actor::Actor(std::string given) : name(std::move(given)) {}

void Actor::block(Wait why, Channel* at, std::string detail) {
  wait = why;
  wait_channel = at;
  wait_detail = std::move(detail);
  fiber->suspend();
  wait = Wait::nothing;
  wait_channel = nullptr;
}

void Actor::wake() { engine().enqueue(this); }

double Actor::wait_until(double cycle) {
  const double before = tile.now();
  if (cycle <= before) return 0;
  tile.wait_until(cycle);
  stalled += cycle - before;
  return cycle - before;
}

void Engine::add(std::unique_ptr<Actor> actor) {
  actor->number = static_cast<unsigned>(actors_.size());
  actor->fiber = std::make_unique<Fiber>(start, actor.get());
  enqueue(actor.get());
  actors_.push_back(std::move(actor));
}

void Engine::enqueue(Actor* actor) {
  if (actor->queued || actor == running_) return;
  actor->queued = true;
  ready_.push_back(actor);
}

void Engine::yield() {
  Actor* self = running_;
  self->queued = true;
  ready_.push_back(self);
  self->fiber->suspend();
}

void Engine::settle() {
  while (!ready_.empty()) {
    Actor* next = ready_.front();
    ready_.pop_front();
    next->queued = false;
    running_ = next;
    set_tile(&next->tile);
    next->fiber->resume();
    set_tile(nullptr);
    running_ = nullptr;
  }
}

}  // namespace aiesim
