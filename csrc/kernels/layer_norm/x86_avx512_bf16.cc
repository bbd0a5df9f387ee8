#include "kernels/vec/avx512.inc"

#include "kernels/layer_norm/rows.inc"

namespace forge {

void layer_norm_avx512_bf16(const LayerNorm& args, Share share) noexcept { run(args, share); }

}  // namespace forge
