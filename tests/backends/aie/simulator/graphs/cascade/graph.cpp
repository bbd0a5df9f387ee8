#include "kernels.h"

class sums : public adf::graph {
 public:
  sums() {
    in = adf::input_plio::create("in", adf::plio_32_bits, "in.txt");
    out = adf::output_plio::create("out", adf::plio_32_bits, "out.txt");
    a = adf::kernel::create(first);
    b = adf::kernel::create(second);
    adf::source(a) = "kernels.cc";
    adf::source(b) = "kernels.cc";
    adf::connect<adf::stream>(in.out[0], a.in[0]);
    adf::connect<adf::stream>(in.out[0], b.in[0]);
    adf::connect<adf::cascade>(a.out[0], b.in[1]);
    adf::connect<adf::stream>(b.out[0], out.in[0]);
  }

 private:
  adf::input_plio in;
  adf::output_plio out;
  adf::kernel a, b;
};

sums design;
