#include "kernels.h"

void on_packets(input_pktstream* in, output_pktstream* out) {
  readincr(in);  // the header
  writeHeader(out, 0, getPacketid(out, 0));
  bool last = false;
  while (!last) {
    const int32 value = readincr(in, last);
    writeincr(out, value + 1000, last);
  }
}

void on_buffers(adf::input_buffer<int32>& in, adf::output_buffer<int32>& out) {
  for (unsigned i = 0; i < in.size(); ++i) out.data()[i] = in.data()[i] + 2000;
}
