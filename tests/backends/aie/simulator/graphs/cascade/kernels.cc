// Beats of four lanes, as the vector API passes them on.
#include "kernels.h"

void first(input_stream<int32>* in, output_cascade<acc48>* sums) {
  for (int i = 0; i < 4; ++i) {
    int64 lanes[8] = {};
    for (int lane = 0; lane < 4; ++lane) lanes[lane] = readincr(in);
    sums->write(lanes, sizeof(lanes));
  }
}

void second(input_stream<int32>* in, input_cascade<acc48>* sums, output_stream<int32>* out) {
  for (int i = 0; i < 4; ++i) {
    int64 lanes[8];
    sums->read(lanes, sizeof(lanes));
    for (int lane = 0; lane < 4; ++lane) writeincr(out, int32(lanes[lane]) + 100 * readincr(in));
  }
}
