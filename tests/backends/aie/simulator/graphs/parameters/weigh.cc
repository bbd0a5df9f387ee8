#include "kernels.h"

void weigh(input_stream<int32>* in, int32 gain, const int32 (&weights)[4],
           output_stream<int32>* out, int32& total) {
  for (int i = 0; i < 4; ++i) {
    const int32 value = readincr(in) * gain * weights[i];
    total += value;
    writeincr(out, value);
  }
}
