#include <utility>

#include "kernels/linear/vec_avx2.inc"

namespace forge {
namespace {

// 12 sums, two vectors of columns and a factor: 15 of 16 registers.
constexpr std::size_t kRows = 6, kVectors = 2, kStreamRows = 2;

}  // namespace
}  // namespace forge

#include "kernels/linear/f32.inc"

namespace forge {

void linear_f32_avx2(const LinearF32& args, Share share) noexcept { run(args, share); }

void linear_pack_f32_avx2(const LinearPackF32& args, Share share) noexcept {
  pack_from<float, float>(args, share);
}

void linear_gather_f32_avx2(const LinearGather& args, Share share) noexcept {
  gather_packed<float>(args, share);
}

}  // namespace forge
