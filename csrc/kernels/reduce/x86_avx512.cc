#include "kernels/vec/avx512.inc"

#include "kernels/reduce/floats.inc"

#include "kernels/reduce/integers.inc"

namespace forge {

void reduce_avx512(const Reduce& args, Share share) noexcept { run(args, share); }

}  // namespace forge
