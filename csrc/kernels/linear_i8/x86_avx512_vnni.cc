#include <utility>

#include "kernels/linear/vec_avx512.inc"
#include "kernels/linear_i8/args.h"

namespace forge {
namespace {

// 24 sums, three vectors of columns and a factor: 28 of 32 registers.
constexpr std::size_t kRows = 8, kVectors = 3, kStreamRows = 4;
constexpr std::size_t kVnniGroupBlock = 1;
constexpr bool kUnsignedWeights = true;

}  // namespace
}  // namespace forge

#include "kernels/linear_i8/vnni.inc"

#include "kernels/linear_i8/product.inc"

namespace forge {

void linear_i8_avx512_vnni(const LinearI8& args, Share share) noexcept { run(args, share); }

void linear_pack_i8_avx512_vnni(const LinearPackI8& args, Share share) noexcept {
  pack(args, share);
}

void linear_gather_i8_avx512_vnni(const LinearGather& args, Share share) noexcept {
  gather_packed<std::int8_t, kUnsignedWeights>(args, share);
}

}  // namespace forge
