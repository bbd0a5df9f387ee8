#include "filter.h"

using namespace adf;

template <int Add>
class shifter : public graph {
 public:
  port<input> in;
  port<output> out[2];

  explicit shifter(bool started) {
    k = kernel::create(shift_by<Add>);
    source(k) = "shift.cc";
    headers(k) = {"filter.h"};
    if (started) initialization_function(k) = "set_start";
    connect<stream>(in, k.in[0]);
    for (int i = 0; i < 2; ++i) connect<stream>(k.out[i], out[i]);
  }

 private:
  kernel k;
};

class classes : public graph {
 public:
  classes() : plus(true), minus(false) {
    in = input_plio::create("in", plio_32_bits, "in.txt");
    filter = kernel::create_object<Filter>(std::vector<int32>({1, 10, 100}), 7);
    source(filter) = "filter.cc";
    louder = kernel::create_object<Amplifier<int32, 3>>();
    source(louder) = "amplifier.cc";
    connect<stream>(in.out[0], filter.in[0]);
    connect<stream>(filter.out[0], louder.in[0]);
    connect(louder.out[0], plus.in);   // one producer,
    connect(louder.out[0], minus.in);  // two consumers
    for (int i = 0; i < 4; ++i) {
      const std::string name = "out" + std::to_string(i);
      out[i] = output_plio::create(name, plio_32_bits, name + ".txt");
      connect(i < 2 ? plus.out[i] : minus.out[i - 2], out[i].in[0]);
    }
  }

 private:
  input_plio in;
  output_plio out[4];
  kernel filter, louder;
  shifter<5> plus;
  shifter<-5> minus;
};

classes design;  // no main: it is run once, or as often as asked
