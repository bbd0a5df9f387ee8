#include "kernels.h"

void split(input_stream<int32>* in, output_stream<int32>* words,
           adf::output_buffer<int32, adf::extents<32>>& block) {
  for (int i = 0; i < 32; ++i) {
    const int32 value = readincr(in);
    block.data()[i] = value;
    writeincr(words, value + 1);
  }
}
