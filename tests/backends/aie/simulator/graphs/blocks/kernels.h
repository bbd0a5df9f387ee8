// Windows with a margin, buffers of both kinds, and streams between them.
#pragma once
#include <adf.h>

void moving_sum(input_window<int16>* in, output_window<int32>* out);
void reverse(adf::input_buffer<int32, adf::extents<adf::inherited_extent>>& in,
             adf::output_buffer<int32>& out);
void conjugate(input_window_cint16* in, output_stream<cint16>* out);
void halve(input_stream<float>* in, adf::output_async_buffer<float, adf::extents<4>>& out);
