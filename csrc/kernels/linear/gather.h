// Rows of a weight by index, read from its packed form: an embedding table that is also the weight
// of the last layer is then held once.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/float.h"
#include "runtime/kernel.h"

namespace forge {

// out[r, :] = row ids[r] of the weight [columns, depth] that was packed by the same variant, times
// scale[ids[r]] if its elements are 8-bit. An id outside [0, columns) sets the status to `step`,
// and its row becomes zero. Elements of a row of out are adjacent; out overlaps nothing.
struct LinearGather {
  const void* packed;
  std::size_t columns;
  std::size_t depth;
  const float* scale;  // columns elements for 8-bit weights, else null
  const void* ids;     // rows elements, ids_stride elements apart
  std::ptrdiff_t ids_stride;
  int ids_bytes;  // 4 or 8: i32 or i64
  std::size_t rows;
  void* out;
  Float out_type;
  std::ptrdiff_t out_stride;
  std::int32_t* status;
  int step;
};

extern const Kernel linear_gather_f32_kernel, linear_gather_bf16_kernel, linear_gather_i8_kernel;

}  // namespace forge
