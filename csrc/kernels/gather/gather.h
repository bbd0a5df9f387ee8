// Elements by index along one to four axes: embedding tables, x[i, j], index_select, gather.
//
// Memory outside x is never read: an index out of range reports an error and yields zeros. Rounding
// to bfloat16 is to nearest even and keeps NaN.
#pragma once

#include "kernels/gather/args.h"
#include "runtime/kernel.h"

namespace forge {

extern const Kernel gather_kernel;

}  // namespace forge
