#include "kernels/vec/avx2.inc"

#include "kernels/layer_norm/rows.inc"

namespace forge {

void layer_norm_avx2(const LayerNorm& args, Share share) noexcept { run(args, share); }

}  // namespace forge
