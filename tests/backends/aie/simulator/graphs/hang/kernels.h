// The first kernel fills a stream before it hands over the block that the second one waits for.
#pragma once
#include <adf.h>

void split(input_stream<int32>* in, output_stream<int32>* words,
           adf::output_buffer<int32, adf::extents<32>>& block);
void join(input_stream<int32>* words, adf::input_buffer<int32, adf::extents<32>>& block,
          output_stream<int32>* out);
void echo(input_stream<int32>* in, input_stream<int32>* back, output_stream<int32>* out);
