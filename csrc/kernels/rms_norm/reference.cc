#include "kernels/vec/portable.inc"

#include "kernels/rms_norm/rows.inc"

namespace forge {

void rms_norm_reference(const RmsNorm& args, Share share) noexcept { run(args, share); }

}  // namespace forge
