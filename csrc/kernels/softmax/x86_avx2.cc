#include "kernels/vec/avx2.inc"

#include "kernels/softmax/rows.inc"

namespace forge {

void softmax_avx2(const Softmax& args, Share share) noexcept { run(args, share); }

}  // namespace forge
