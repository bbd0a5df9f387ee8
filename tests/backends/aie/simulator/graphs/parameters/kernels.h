// Run-time parameters: synchronous, asynchronous, arrays, and values that come out.
#pragma once
#include <adf.h>

void weigh(input_stream<int32>* in, int32 gain, const int32 (&weights)[4],
           output_stream<int32>* out, int32& total);
