#include "kernels.h"

void join(input_stream<int32>* words, adf::input_buffer<int32, adf::extents<32>>& block,
          output_stream<int32>* out) {
  for (int i = 0; i < 32; ++i) writeincr(out, readincr(words) * block.data()[i]);
}

void echo(input_stream<int32>* in, input_stream<int32>* back, output_stream<int32>* out) {
  for (int i = 0; i < 32; ++i) writeincr(out, readincr(in) + readincr(back));
}
