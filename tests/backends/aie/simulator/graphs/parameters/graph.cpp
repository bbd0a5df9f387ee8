#include <cstdio>

#include "kernels.h"

class weighing : public adf::graph {
 public:
  adf::input_plio in;
  adf::output_plio out;
  adf::port<adf::input> gain, weights;
  adf::port<adf::direction::inout> total;
  adf::kernel k;

  weighing() {
    in = adf::input_plio::create("in", adf::plio_32_bits, "in.txt");
    out = adf::output_plio::create("out", adf::plio_32_bits, "out.txt");
    k = adf::kernel::create(weigh);
    adf::source(k) = "weigh.cc";
    adf::connect<>(in.out[0], k.in[0]);
    adf::connect<adf::parameter>(gain, k.in[1]);
    adf::connect<adf::parameter>(weights, async(k.in[2]));
    adf::connect<adf::stream>(k.out[0], out.in[0]);
    adf::connect<adf::parameter>(k.inout[0], total);
  }
};

weighing design;

int main() {
  const int32 first[4] = {1, 2, 3, 4}, second[4] = {1, 1, 1, 1};
  int32 total = 0;
  design.init();
  design.update(design.weights, first, 4);
  design.update(design.gain, 10);
  design.run(1);
  design.wait();
  design.read(design.total, total);
  std::printf("after one: %d\n", total);
  design.update(design.total, 0);
  design.run(2);
  design.update(design.gain, 100);
  design.update(design.weights, second, 4);
  design.update(design.gain, 1000);
  design.wait();
  design.read(design.total, total);
  std::printf("after three: %d\n", total);
  design.end();
  return 0;
}
