#include "kernels.h"

using namespace adf;

class packets : public graph {
 public:
  packets() {
    in = input_plio::create("in", plio_32_bits, "in.txt");
    out = output_plio::create("out", plio_32_bits, "out.txt");
    ways = pktsplit<2>::create();
    joined = pktmerge<2>::create();
    k[0] = kernel::create(on_packets);
    k[1] = kernel::create(on_buffers);
    dimensions(k[1].in[0]) = {4};
    dimensions(k[1].out[0]) = {4};
    connect<pktstream>(in.out[0], ways.in[0]);
    for (int i = 0; i < 2; ++i) {
      source(k[i]) = "kernels.cc";
      connect<pktstream>(ways.out[i], k[i].in[0]);
      connect<pktstream>(k[i].out[0], joined.in[i]);
    }
    connect<pktstream>(joined.out[0], out.in[0]);
  }

 private:
  input_plio in;
  output_plio out;
  pktsplit<2> ways;
  pktmerge<2> joined;
  kernel k[2];
};

packets design;
