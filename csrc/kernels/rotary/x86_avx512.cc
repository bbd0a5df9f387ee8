#include "kernels/vec/avx512.inc"

#include "kernels/rotary/rows.inc"

namespace forge {

void rotary_avx512(const Rotary& args, Share share) noexcept { run(args, share); }

}  // namespace forge
