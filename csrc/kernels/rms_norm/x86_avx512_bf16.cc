#include "kernels/vec/avx512.inc"

#include "kernels/rms_norm/rows.inc"

namespace forge {

void rms_norm_avx512_bf16(const RmsNorm& args, Share share) noexcept { run(args, share); }

}  // namespace forge
