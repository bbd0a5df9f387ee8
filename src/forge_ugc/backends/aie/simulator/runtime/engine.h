// The engine: actors that take turns, the channels between them and what each one waits for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "aiesim/model.h"
#include "aiesim/tile.h"
#include "fiber.h"

namespace aiesim {

class Actor;

// Something that data waits in between two actors.
struct Channel {
  std::string name;                          // "a.out[0] -> b.in[1]"
  std::string producer_port, consumer_port;  // "a.out[0]"
  Actor* producer = nullptr;
  Actor* consumer = nullptr;
  Place place;                 // of connect
  const char* unit = "words";  // of fill and depth
  NetNode* net = nullptr;
  double producer_stall = 0, consumer_stall = 0;  // cycles waited on this channel
  virtual ~Channel() = default;
  virtual std::size_t fill() const = 0;
  virtual std::size_t depth() const = 0;
  // Makes room for more, to find out how deep it would have to be; false if that has no bearing.
  virtual bool grow() { return false; }
  std::size_t grown_from = 0;  // depth before the first grow
};

enum class Wait : std::uint8_t {
  nothing,
  data,
  room,
  update,
  runs,
  host_data,
  file_end,
  limit,
  ended
};

// One thing that runs: a kernel, a PLIO, a DMA. Blocks on one channel at a time.
class Actor {
 public:
  explicit Actor(std::string name);
  virtual ~Actor() = default;
  Actor(const Actor&) = delete;
  Actor& operator=(const Actor&) = delete;

  virtual void body() = 0;
  // Suspends until woken. Only from inside of body.
  void block(Wait why, Channel* at = nullptr, std::string detail = {});
  // Makes a blocked actor run again in its turn.
  void wake();
  double wait_until(double cycle);  // returns the cycles waited

  std::string name;
  double stalled = 0;  // cycles that it waited for others
  Tile tile;
  Wait wait = Wait::nothing;
  Channel* wait_channel = nullptr;
  std::string wait_detail;
  KernelNode* kernel = nullptr;
  IoNode* io = nullptr;
  unsigned number = 0;
  std::unique_ptr<Fiber> fiber;
  bool queued = false;
  bool wait_any = false;  // any of its channels will do
};

// All actors, run in turn until none can go on.
class Engine {
 public:
  void add(std::unique_ptr<Actor> actor);
  void enqueue(Actor* actor);
  // Runs until every actor is blocked.
  void settle();
  // Lets every other actor run that can, then goes on with the running one.
  void yield();
  Actor* running() const noexcept { return running_; }
  const std::vector<std::unique_ptr<Actor>>& actors() const noexcept { return actors_; }
  double cycle_limit = 1e300;  // no iteration starts after it

 private:
  std::vector<std::unique_ptr<Actor>> actors_;
  std::deque<Actor*> ready_;
  Actor* running_ = nullptr;
};

Engine& engine();

// What the figures of the model are; the runner may override them from a file.
struct NetworkCosts {
  double clock_mhz = 1250;
  double stream_depth_words = 16;  // switches of a short route hold this much
  double stream_hop_cycles = 4;    // through one switch
  double stream_hops = 2;          // of a route between kernels whose places are unknown
  double cascade_depth = 4;        // two at each end
  double lock_cycles = 7;          // acquire or release
  double call_cycles = 44;         // of one invocation
  double dma_start_cycles = 10;    // of one buffer that a DMA moves
};
NetworkCosts& network_costs();

}  // namespace aiesim
