#include <utility>

#include "kernels/linear/vec_avx512.inc"
#include "kernels/linear_i8/args.h"

namespace forge {
namespace {

// 24 halves of sums, four of columns, a factor and a product: 30 of 32 registers.
constexpr std::size_t kRows = 6, kVectors = 2, kStreamRows = 3;

using Lanes = __m512i;
using Weights = __m512i;
using Factor = __m512i;

// Each of the Lanes holds eight columns, every column as two sums side by side.
constexpr std::size_t kSplit = 2;
constexpr bool kUnsignedWeights = false;
constexpr std::int32_t kStartFactor = 0;
constexpr std::size_t kGroupBlock = 1;

FORGE_INLINE Lanes start_at(std::int32_t) noexcept { return _mm512_setzero_si512(); }
FORGE_INLINE Weights load_weights(const std::int8_t* from) noexcept {
  return _mm512_cvtepi8_epi16(_mm256_load_si256(reinterpret_cast<const __m256i*>(from)));
}
FORGE_INLINE Factor factor_of(std::int32_t group) noexcept {
  return _mm512_cvtepi8_epi16(_mm256_set1_epi32(group));
}
FORGE_INLINE Lanes dot(Lanes sum, Factor x, Weights w) noexcept {
  return _mm512_add_epi32(sum, _mm512_madd_epi16(x, w));
}
// The unmasked conversion reads what GCC 12 takes for an uninitialised variable (GCC bug 105593).
FORGE_INLINE Vec to_floats(const Lanes (&sum)[kSplit]) noexcept {
  const __m512i even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
  const __m512i odd = _mm512_add_epi32(even, _mm512_set1_epi32(1));
  return _mm512_maskz_cvtepi32_ps(0xffff,
                                  _mm512_add_epi32(_mm512_permutex2var_epi32(sum[0], even, sum[1]),
                                                   _mm512_permutex2var_epi32(sum[0], odd, sum[1])));
}

}  // namespace
}  // namespace forge

#include "kernels/linear_i8/product.inc"

namespace forge {

void linear_i8_avx512(const LinearI8& args, Share share) noexcept { run(args, share); }

void linear_pack_i8_avx512(const LinearPackI8& args, Share share) noexcept { pack(args, share); }

void linear_gather_i8_avx512(const LinearGather& args, Share share) noexcept {
  gather_packed<std::int8_t, kUnsignedWeights>(args, share);
}

}  // namespace forge
