#include <utility>

#include "kernels/linear/vec_avx512.inc"

namespace forge {
namespace {

// 24 sums, three vectors of columns and a factor: 28 of 32 registers.
constexpr std::size_t kRows = 8, kVectors = 3, kStreamRows = 4;

}  // namespace
}  // namespace forge

#include "kernels/linear/bf16.inc"

namespace forge {

void linear_bf16_avx512(const LinearBf16& args, Share share) noexcept { run(args, share); }

void linear_pack_bf16_avx512(const LinearPackBf16& args, Share share) noexcept {
  pack_bf16(args, share);
}

void linear_gather_bf16_avx512(const LinearGather& args, Share share) noexcept {
  gather_packed<Bf16>(args, share);
}

}  // namespace forge
