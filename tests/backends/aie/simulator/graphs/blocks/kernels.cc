#include "kernels.h"

// Each result is the sum of a sample and the two before it, which come with the margin.
void moving_sum(input_window<int16>* in, output_window<int32>* out) {
  window_incr(in, 16 - 2);
  int16 before = window_readincr(in);
  int16 last = window_readincr(in);
  for (unsigned i = 0; i < window_size(in); ++i) {
    const int16 now = window_readincr(in);
    window_writeincr(out, before + last + now);
    before = last, last = now;
  }
}

void reverse(adf::input_buffer<int32, adf::extents<adf::inherited_extent>>& in,
             adf::output_buffer<int32>& out) {
  const int32* __restrict from = in.data();
  int32* __restrict to = out.data();
  for (unsigned i = 0; i < in.size(); ++i) to[in.size() - 1 - i] = from[i];
}

void conjugate(input_window_cint16* in, output_stream<cint16>* out) {
  for (unsigned i = 0; i < window_size(in); ++i) {
    const cint16 value = window_readincr(in);
    writeincr(out, cint16{value.real, int16(-value.imag)}, i + 1 == window_size(in));
  }
}

void halve(input_stream<float>* in, adf::output_async_buffer<float, adf::extents<4>>& out) {
  for (int block = 0; block < 2; ++block) {
    out.acquire();
    for (int i = 0; i < 4; ++i) out.data()[i] = readincr(in) / 2;
    out.release();
  }
}
