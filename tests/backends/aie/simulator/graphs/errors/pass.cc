#include <adf.h>

#if FAULT == 11
#include "absent.h"
#endif

void pass(input_stream<int32>* in, output_stream<int32>* out) {
#if FAULT == 12
  int32 value = readincr_twice(in);
#else
  int32 value = readincr(in);
#endif
#if FAULT == 13
  int32* nowhere = reinterpret_cast<int32*>(value);
  *nowhere = 1;
#elif FAULT == 14
  value = 1 / (value - value);
#endif
  writeincr(out, value);
}

void window_pass(input_window<int32>* in, output_window<int32>* out) {
  window_incr(in, 3);
  window_writeincr(out, window_readincr(in));
  for (int i = 0; i < 4; ++i) in->at(20);
}
