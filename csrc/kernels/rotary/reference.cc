#include "kernels/vec/portable.inc"

#include "kernels/rotary/rows.inc"

namespace forge {

void rotary_reference(const Rotary& args, Share share) noexcept { run(args, share); }

}  // namespace forge
