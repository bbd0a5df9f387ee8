#include <immintrin.h>

#include "kernels/rms_norm/args.h"

namespace forge {
namespace {

constexpr std::size_t kWidth = 8;

// A mask that selects the first `count` of eight lanes.
__m256i first_lanes(std::size_t count) noexcept {
  const __m256i index = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(count)), index);
}

float horizontal_sum(__m256 v) noexcept {
  __m128 sum = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
  sum = _mm_add_ps(sum, _mm_movehl_ps(sum, sum));
  return _mm_cvtss_f32(_mm_add_ss(sum, _mm_movehdup_ps(sum)));
}

float sum_of_squares(const float* x, std::size_t dim) noexcept {
  __m256 even = _mm256_setzero_ps(), odd = _mm256_setzero_ps();
  std::size_t i = 0;
  for (; i + 2 * kWidth <= dim; i += 2 * kWidth) {
    const __m256 first = _mm256_loadu_ps(x + i), second = _mm256_loadu_ps(x + i + kWidth);
    even = _mm256_fmadd_ps(first, first, even);
    odd = _mm256_fmadd_ps(second, second, odd);
  }
  for (; i < dim; i += kWidth) {
    const __m256 v = _mm256_maskload_ps(x + i, first_lanes(dim - i));
    even = _mm256_fmadd_ps(v, v, even);
  }
  return horizontal_sum(_mm256_add_ps(even, odd));
}

float reciprocal_rms(float sum, std::size_t dim, float eps) noexcept {
  const __m128 mean = _mm_set_ss(sum / static_cast<float>(dim) + eps);
  return 1.0f / _mm_cvtss_f32(_mm_sqrt_ss(mean));
}

}  // namespace

void rms_norm_f32_avx2(const RmsNormF32& a, Share share) noexcept {
  const Range rows = split(a.rows, share);
  const float* x = a.x + static_cast<std::ptrdiff_t>(rows.begin) * a.x_stride;
  float* out = a.out + static_cast<std::ptrdiff_t>(rows.begin) * a.out_stride;
  for (std::size_t row = rows.begin; row < rows.end; ++row, x += a.x_stride, out += a.out_stride) {
    const __m256 scale = _mm256_set1_ps(reciprocal_rms(sum_of_squares(x, a.dim), a.dim, a.eps));
    std::size_t i = 0;
    for (; i + kWidth <= a.dim; i += kWidth) {
      __m256 v = _mm256_mul_ps(_mm256_loadu_ps(x + i), scale);
      if (a.w != nullptr) v = _mm256_mul_ps(v, _mm256_loadu_ps(a.w + i));
      _mm256_storeu_ps(out + i, v);
    }
    if (i < a.dim) {
      const __m256i mask = first_lanes(a.dim - i);
      __m256 v = _mm256_mul_ps(_mm256_maskload_ps(x + i, mask), scale);
      if (a.w != nullptr) v = _mm256_mul_ps(v, _mm256_maskload_ps(a.w + i, mask));
      _mm256_maskstore_ps(out + i, mask, v);
    }
  }
}

}  // namespace forge
