// One fault of user code for each value of FAULT.
#include <adf.h>

using namespace adf;

void pass(input_stream<int32>* in, output_stream<int32>* out);
void window_pass(input_window<int32>* in, output_window<int32>* out);

#if FAULT == 9
void lost(std::string* in, output_stream<int32>* out);
#endif

class faulty : public graph {
 public:
  kernel k;
  input_plio in;
  output_plio out;

  faulty() {
    in = input_plio::create("in", plio_32_bits, FAULT == 1 ? "none.txt" : "in.txt");
    out = output_plio::create("out", plio_32_bits, "out.txt");
#if FAULT == 9
    k = kernel::create(lost);
#elif FAULT == 6 || FAULT == 10
    k = kernel::create(window_pass);
#else
    k = kernel::create(pass);
#endif
    if (FAULT != 3) source(k) = FAULT == 2 ? "nowhere.cc" : "pass.cc";
#if FAULT == 4
    adf::no_such_property(k) = 1;
#endif
    if (FAULT == 8) initialization_function(k) = "start";
#if FAULT == 10
    connect<window<16>>(in.out[0], k.in[0]);
    connect<window<16>>(k.out[0], out.in[0]);
#else
    connect<>(in.out[0], k.in[0]);
    if (FAULT != 5) connect<>(k.out[0], out.in[0]);
#endif
    if (FAULT == 7) connect<stream>(k.out[1], out.in[0]);
  }
};

faulty design;

int main() {
  design.init();
  design.run(1);
  design.end();
}
