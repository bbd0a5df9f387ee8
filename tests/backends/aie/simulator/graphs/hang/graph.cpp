#include "kernels.h"

using namespace adf;

#ifndef DEPTH
#define DEPTH 0
#endif

class diamond : public graph {
 public:
  kernel k[2];
  input_plio in;
  output_plio out;

  diamond() {
    in = input_plio::create("in", plio_32_bits, "in.txt");
    out = output_plio::create("out", plio_32_bits, "out.txt");
#ifdef FEEDBACK
    k[0] = kernel::create(echo);
    source(k[0]) = "join.cc";
    connect<stream>(in.out[0], k[0].in[0]);
    connect<stream>(k[0].out[0], k[0].in[1]);
    connect<stream>(k[0].out[0], out.in[0]);
#else
    k[0] = kernel::create(split);
    source(k[0]) = "split.cc";
    k[1] = kernel::create(join);
    source(k[1]) = "join.cc";
    connect<>(in.out[0], k[0].in[0]);
    connect<stream> words(k[0].out[0], k[1].in[0]);
    connect<>(k[0].out[1], k[1].in[1]);
    connect<stream>(k[1].out[0], out.in[0]);
    if (DEPTH > 0) fifo_depth(words) = DEPTH;
#endif
  }
};

diamond design;

int main() {
  design.init();
  design.run(1);
  design.end();
}
