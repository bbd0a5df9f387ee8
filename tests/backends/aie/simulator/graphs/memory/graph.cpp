// The older spellings: PLIO objects, a platform, GMIO, ports of the top graph.
#include <cstdio>

#include "kernels.h"

using namespace adf;

class increments : public graph {
 public:
  input_port in, in_memory;
  output_port out, out_memory;
  kernel a, b;

  increments() {
    a = kernel::create(increase);
    b = kernel::create(increase);
    source(a) = "increase.cc";
    source(b) = "increase.cc";
    connect<window<32>>(in, a.in[0]);
    connect<window<32>>(a.out[0], out);
    connect<window<32>>(in_memory, b.in[0]);
    connect<window<32>>(b.out[0], out_memory);
  }
};

PLIO* samples = new PLIO("samples", plio_32_bits, "in.txt", 250.0);
PLIO* results = new PLIO("results", plio_32_bits, "out.txt", 250.0);
GMIO memory_in("memory_in", 64, 1000);
GMIO memory_out("memory_out", 64, 1000);
increments design;
simulation::platform<2, 2> platform(samples, &memory_in, results, &memory_out);
connect<> net0(platform.src[0], design.in);
connect<> net1(platform.src[1], design.in_memory);
connect<> net2(design.out, platform.sink[0]);
connect<> net3(design.out_memory, platform.sink[1]);

int main() {
  design.init();
  auto* from = static_cast<int32*>(GMIO::malloc(64));
  auto* to = static_cast<int32*>(GMIO::malloc(64));
  for (int i = 0; i < 16; ++i) from[i] = 10 * i;
  event::handle latency =
      event::start_profiling(*samples, *results, event::io_stream_start_difference_cycles);
  memory_in.gm2aie_nb(from, 64);
  memory_out.aie2gm_nb(to, 64);
  design.run(2);
  memory_out.wait();
  design.wait();
  std::printf("%d %d %d\n", to[0], to[1], to[15]);
  std::printf("latency %lld\n", event::read_profiling(latency));
  event::stop_profiling(latency);
  GMIO::free(from);
  GMIO::free(to);
  design.end();
  return 0;
}
