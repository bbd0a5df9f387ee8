#include "kernels.h"

// Globals of the same name as those of the other kernel, and state that each instance has alone.
int32 table[8] = {1, 2, 3, 4, 5, 6, 7, 8};
static int calls = 0;

void add_table(input_stream<int32>* in, output_stream<int32>* out) {
  for (int i = 0; i < 8; ++i) chess_prepare_for_pipelining chess_loop_range(8, ) {
      writeincr(out, readincr(in) + table[i] + 100 * calls);
    }
  ++calls;
}
