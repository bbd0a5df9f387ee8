#pragma once
#include <adf.h>

void on_packets(input_pktstream* in, output_pktstream* out);
void on_buffers(adf::input_buffer<int32>& in, adf::output_buffer<int32>& out);
