#pragma once
#include <adf.h>

void first(input_stream<int32>* in, output_cascade<acc48>* sums);
void second(input_stream<int32>* in, input_cascade<acc48>* sums, output_stream<int32>* out);
