#include <utility>

#include "kernels/linear/vec_portable.inc"

namespace forge {
namespace {

// 8 sums, four vectors of columns and a factor: 13 of the 16 registers of x86-64.
constexpr std::size_t kRows = 2, kVectors = 4, kStreamRows = 1;

}  // namespace
}  // namespace forge

#include "kernels/linear/f32.inc"

namespace forge {

void linear_f32_reference(const LinearF32& args, Share share) noexcept { run(args, share); }

void linear_pack_f32_reference(const LinearPackF32& args, Share share) noexcept {
  pack_from<float, float>(args, share);
}

void linear_gather_f32_reference(const LinearGather& args, Share share) noexcept {
  gather_packed<float>(args, share);
}

}  // namespace forge
