// Strided copy: out[i] = x[i] for elements of any type, byte by byte the same.
//
// Adjacent elements go by memcpy; where the innermost loops of the two differ (a transposition),
// tiles of 16 x 16 elements keep the cache lines of both sides until they are used up.
#pragma once

#include "kernels/copy/args.h"
#include "runtime/kernel.h"

namespace forge {

extern const Kernel copy_kernel;

}  // namespace forge
