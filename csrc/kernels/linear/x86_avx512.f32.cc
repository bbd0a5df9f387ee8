#include <utility>

#include "kernels/linear/vec_avx512.inc"

namespace forge {
namespace {

// 24 sums, three vectors of columns and a factor: 28 of 32 registers.
constexpr std::size_t kRows = 8, kVectors = 3, kStreamRows = 4;

}  // namespace
}  // namespace forge

#include "kernels/linear/f32.inc"

namespace forge {

void linear_f32_avx512(const LinearF32& args, Share share) noexcept { run(args, share); }

void linear_pack_f32_avx512(const LinearPackF32& args, Share share) noexcept {
  pack_from<float, float>(args, share);
}

void linear_gather_f32_avx512(const LinearGather& args, Share share) noexcept {
  gather_packed<float>(args, share);
}

}  // namespace forge
