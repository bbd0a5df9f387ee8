#include "kernels/vec/portable.inc"

#include "kernels/arg_reduce/search.inc"

namespace forge {

void arg_reduce_reference(const ArgReduce& args, Share share) noexcept { run(args, share); }

}  // namespace forge
