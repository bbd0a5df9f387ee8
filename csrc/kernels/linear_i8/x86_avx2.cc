#include <utility>

#include "kernels/linear/vec_avx2.inc"
#include "kernels/linear_i8/args.h"

namespace forge {
namespace {

// 12 halves of sums, two of columns, a factor and a product: 16 registers.
constexpr std::size_t kRows = 6, kVectors = 1, kStreamRows = 3;

using Lanes = __m256i;
using Weights = __m256i;
using Factor = __m256i;

// Each of the Lanes holds four columns, every column as two sums side by side.
constexpr std::size_t kSplit = 2;
constexpr bool kUnsignedWeights = false;
constexpr std::int32_t kStartFactor = 0;
constexpr std::size_t kGroupBlock = 1;

FORGE_INLINE Lanes start_at(std::int32_t) noexcept { return _mm256_setzero_si256(); }
FORGE_INLINE Weights load_weights(const std::int8_t* from) noexcept {
  return _mm256_cvtepi8_epi16(_mm_load_si128(reinterpret_cast<const __m128i*>(from)));
}
FORGE_INLINE Factor factor_of(std::int32_t group) noexcept {
  return _mm256_cvtepi8_epi16(_mm_set1_epi32(group));
}
FORGE_INLINE Lanes dot(Lanes sum, Factor x, Weights w) noexcept {
  return _mm256_add_epi32(sum, _mm256_madd_epi16(x, w));
}
FORGE_INLINE Vec to_floats(const Lanes (&sum)[kSplit]) noexcept {
  // Adding pairs works within halves of 16 bytes: put pairs of columns back in order.
  const __m256i pairs = _mm256_hadd_epi32(sum[0], sum[1]);
  return _mm256_cvtepi32_ps(_mm256_permute4x64_epi64(pairs, 0b11011000));
}

}  // namespace
}  // namespace forge

#include "kernels/linear_i8/product.inc"

namespace forge {

void linear_i8_avx2(const LinearI8& args, Share share) noexcept { run(args, share); }

void linear_pack_i8_avx2(const LinearPackI8& args, Share share) noexcept { pack(args, share); }

void linear_gather_i8_avx2(const LinearGather& args, Share share) noexcept {
  gather_packed<std::int8_t, kUnsignedWeights>(args, share);
}

}  // namespace forge
