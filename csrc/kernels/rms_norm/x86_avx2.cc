#include "kernels/vec/avx2.inc"

#include "kernels/rms_norm/rows.inc"

namespace forge {

void rms_norm_avx2(const RmsNorm& args, Share share) noexcept { run(args, share); }

}  // namespace forge
