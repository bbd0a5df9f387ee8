// Two kernels on streams.
#pragma once
#include <adf.h>

void add_table(input_stream<int32>* in, output_stream<int32>* out);
void scale(input_stream<int32>* in, output_stream<int32>* out);
