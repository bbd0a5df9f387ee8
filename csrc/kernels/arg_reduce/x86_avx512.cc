#include "kernels/vec/avx512.inc"

#include "kernels/arg_reduce/search.inc"

namespace forge {

void arg_reduce_avx512(const ArgReduce& args, Share share) noexcept { run(args, share); }

}  // namespace forge
