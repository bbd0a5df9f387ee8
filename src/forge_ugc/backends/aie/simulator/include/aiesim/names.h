// Names with the type in them: input_stream_int8, output_window_cint16 and their like.
#pragma once

#include "aiesim/cascade.h"
#include "aiesim/stream.h"
#include "aiesim/types.h"
#include "aiesim/window.h"

struct acc48;
struct acc80;
struct acc32;
struct acc64;
struct cacc48;
struct cacc80;
struct accfloat;
struct caccfloat;

#define AIESIM_NAMES(type)                          \
  using input_stream_##type = input_stream<type>;   \
  using output_stream_##type = output_stream<type>; \
  using input_window_##type = input_window<type>;   \
  using output_window_##type = output_window<type>;
AIESIM_NAMES(int8)
AIESIM_NAMES(uint8)
AIESIM_NAMES(int16)
AIESIM_NAMES(uint16)
AIESIM_NAMES(int32)
AIESIM_NAMES(uint32)
AIESIM_NAMES(int64)
AIESIM_NAMES(uint64)
AIESIM_NAMES(cint16)
AIESIM_NAMES(cint32)
AIESIM_NAMES(cfloat)
#undef AIESIM_NAMES
using input_stream_float = input_stream<float>;
using output_stream_float = output_stream<float>;
using input_window_float = input_window<float>;
using output_window_float = output_window<float>;

// The names are known in adf too.
namespace adf {
using ::input_cascade;
using ::input_pktstream;
using ::input_stream;
using ::input_window;
using ::output_cascade;
using ::output_pktstream;
using ::output_stream;
using ::output_window;
}  // namespace adf
