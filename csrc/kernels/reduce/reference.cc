#include "kernels/vec/portable.inc"

#include "kernels/reduce/floats.inc"

#include "kernels/reduce/integers.inc"

namespace forge {

void reduce_reference(const Reduce& args, Share share) noexcept { run(args, share); }

}  // namespace forge
