#include "filter.h"

int32 start_value = 0;
void set_start() { start_value = 1000; }

template <int Add>
void shift_by(input_stream<int32>* in, output_stream<int32>* out0, output_stream<int32>* out1) {
  for (int i = 0; i < 4; ++i) {
    const int32 value = readincr(in) + Add + start_value;
    writeincr(out0, value);
    writeincr(out1, -value);
  }
}
