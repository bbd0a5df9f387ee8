#include "kernels/attention/vec_avx512.inc"

#include "kernels/attention/walk.inc"

namespace forge {

void attention_f32_avx512(const AttentionF32& args, Share share) noexcept { run(args, share); }

void attention_bf16_avx512(const AttentionBf16& args, Share share) noexcept { run(args, share); }

}  // namespace forge
