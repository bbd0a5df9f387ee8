#include "kernels.h"

using namespace adf;

class chain : public graph {
 public:
  input_plio in;
  output_plio out;

  chain() {
    in = input_plio::create("in", plio_32_bits, "data/in.txt");
    out = output_plio::create("out", plio_64_bits, "data/out.txt");
    for (auto& k : adders) {
      k = kernel::create(add_table);
      source(k) = "add_table.cc";
      runtime<ratio>(k) = 0.9;
    }
    last = kernel::create(scale);
    source(last) = "scale.cc";
    connect<stream> net0(in.out[0], adders[0].in[0]);
    connect<stream>(adders[0].out[0], adders[1].in[0]);
    connect(adders[1].out[0], last.in[0]);
    connect<> net3(last.out[0], out.in[0]);
  }

 private:
  kernel adders[2];
  kernel last;
};

chain design;

#if defined(__AIESIM__) || defined(__X86SIM__)
int main() {
  design.init();
  design.run(2);
  design.end();
  return 0;
}
#endif
