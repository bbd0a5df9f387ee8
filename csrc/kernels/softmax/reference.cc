#include "kernels/vec/portable.inc"

#include "kernels/softmax/rows.inc"

namespace forge {

void softmax_reference(const Softmax& args, Share share) noexcept { run(args, share); }

}  // namespace forge
