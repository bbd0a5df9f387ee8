#include "filter.h"

Filter::Filter(const int32 (&taps)[3], int32 offset) : taps_(taps), offset_(offset) {}

void Filter::run(input_stream<int32>* in, output_stream<int32>* out) {
  for (int i = 0; i < 4; ++i) {
    line_[2] = line_[1], line_[1] = line_[0], line_[0] = readincr(in);
    int32 sum = offset_;
    for (int tap = 0; tap < 3; ++tap) sum += taps_[tap] * line_[tap];
    writeincr(out, sum);
  }
}
