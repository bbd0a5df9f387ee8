#include "kernels/vec/avx2.inc"

#include "kernels/rotary/rows.inc"

namespace forge {

void rotary_avx2(const Rotary& args, Share share) noexcept { run(args, share); }

}  // namespace forge
