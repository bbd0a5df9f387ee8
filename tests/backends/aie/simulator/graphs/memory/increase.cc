#include "kernels.h"

void increase(input_window_int32* in, output_window_int32* out) {
  for (unsigned i = 0; i < window_size(in); ++i) {
    int32 value;
    window_readincr(in, value);
    window_writeincr(out, value + 1);
  }
}
