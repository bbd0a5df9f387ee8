#include <utility>

#include "kernels/linear/vec_portable.inc"
#include "kernels/linear_i8/args.h"

namespace forge {
namespace {

// 8 registers of sums on x86-64.
constexpr std::size_t kRows = 2, kVectors = 1, kStreamRows = 1;

using Bytes = std::int8_t __attribute__((vector_size(4)));
using Weights = std::int16_t __attribute__((vector_size(8)));
using Factor = Weights;
using Lanes = std::int32_t __attribute__((vector_size(16)));

// Each of the Lanes holds one column, as a sum for each depth of a group.
constexpr std::size_t kSplit = 4;
constexpr bool kUnsignedWeights = false;
constexpr std::int32_t kStartFactor = 0;
constexpr std::size_t kGroupBlock = 1;

FORGE_INLINE Lanes start_at(std::int32_t) noexcept { return Lanes{}; }
FORGE_INLINE Weights load_weights(const std::int8_t* from) noexcept {
  Bytes bytes;
  __builtin_memcpy(&bytes, from, sizeof bytes);
  return __builtin_convertvector(bytes, Weights);
}
FORGE_INLINE Factor factor_of(std::int32_t group) noexcept {
  return load_weights(reinterpret_cast<const std::int8_t*>(&group));
}
// A product is at most 2^14.
FORGE_INLINE Lanes dot(Lanes sum, Factor x, Weights w) noexcept {
  return sum + __builtin_convertvector(x * w, Lanes);
}
FORGE_INLINE Vec to_floats(const Lanes (&sum)[kSplit]) noexcept {
  Lanes whole;
  for (std::size_t column = 0; column < kWidth; ++column) {
    const Lanes& four = sum[column];
    whole[column] = (four[0] + four[1]) + (four[2] + four[3]);
  }
  return __builtin_convertvector(whole, Vec);
}

}  // namespace
}  // namespace forge

#include "kernels/linear_i8/product.inc"

namespace forge {

void linear_i8_none(const LinearI8& args, Share share) noexcept { run(args, share); }

void linear_pack_i8_none(const LinearPackI8& args, Share share) noexcept { pack(args, share); }

void linear_gather_i8_none(const LinearGather& args, Share share) noexcept {
  gather_packed<std::int8_t, kUnsignedWeights>(args, share);
}

}  // namespace forge
