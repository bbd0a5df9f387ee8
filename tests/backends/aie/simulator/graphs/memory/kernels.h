#pragma once
#include <adf.h>

void increase(input_window_int32* in, output_window_int32* out);
