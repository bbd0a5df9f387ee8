#include "kernels/vec/avx512.inc"

#include "kernels/softmax/rows.inc"

namespace forge {

void softmax_avx512(const Softmax& args, Share share) noexcept { run(args, share); }

}  // namespace forge
