#include "kernels.h"

int32 table[2] = {2, 3};

void scale(input_stream<int32>* in, output_stream<int32>* out) {
  for (int i = 0; i < 8; ++i) writeincr(out, readincr(in) * table[i % 2]);
}
