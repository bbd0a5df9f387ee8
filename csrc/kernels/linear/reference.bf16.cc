#include <utility>

#include "kernels/linear/vec_portable.inc"

namespace forge {
namespace {

// 8 sums, four vectors of columns and a factor: 13 of the 16 registers of x86-64.
constexpr std::size_t kRows = 2, kVectors = 4, kStreamRows = 1;

}  // namespace
}  // namespace forge

#include "kernels/linear/bf16.inc"

namespace forge {

void linear_bf16_reference(const LinearBf16& args, Share share) noexcept { run(args, share); }

void linear_pack_bf16_reference(const LinearPackBf16& args, Share share) noexcept {
  pack_bf16(args, share);
}

void linear_gather_bf16_reference(const LinearGather& args, Share share) noexcept {
  gather_packed<Bf16>(args, share);
}

}  // namespace forge
