// The network: actors and channels made from the graph.
#pragma once

#include <memory>
#include <vector>

#include "beats.h"
#include "kernels.h"
#include "movers.h"
#include "plio.h"

namespace aiesim {

struct Network {
  bool built = false;
  std::vector<KernelActor*> kernels;  // by number
  std::vector<PlioSource*> sources;
  std::vector<PlioSink*> sinks;
  std::vector<std::unique_ptr<Channel>> channels;
  std::vector<std::unique_ptr<WordWriter>> writers;
  std::vector<std::unique_ptr<BlockWriter>> block_writers;
  std::vector<std::unique_ptr<BeatWriter>> beat_writers;
};

Network& network();

// Builds everything once. Ends the run if a port is not connected or a size is not known.
void build_network();

// "name.in[0]"
std::string port_text(const PortNode& port);

}  // namespace aiesim
