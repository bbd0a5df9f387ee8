#include <utility>

#include "kernels/linear/vec_avx2.inc"

namespace forge {
namespace {

// 12 sums, two vectors of columns and a factor: 15 of 16 registers.
constexpr std::size_t kRows = 6, kVectors = 2, kStreamRows = 2;

}  // namespace
}  // namespace forge

#include "kernels/linear/bf16.inc"

namespace forge {

void linear_bf16_avx2(const LinearBf16& args, Share share) noexcept { run(args, share); }

void linear_pack_bf16_avx2(const LinearPackBf16& args, Share share) noexcept {
  pack_bf16(args, share);
}

void linear_gather_bf16_avx2(const LinearGather& args, Share share) noexcept {
  gather_packed<Bf16>(args, share);
}

}  // namespace forge
