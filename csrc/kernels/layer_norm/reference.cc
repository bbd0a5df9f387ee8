#include "kernels/vec/portable.inc"

#include "kernels/layer_norm/rows.inc"

namespace forge {

void layer_norm_reference(const LayerNorm& args, Share share) noexcept { run(args, share); }

}  // namespace forge
