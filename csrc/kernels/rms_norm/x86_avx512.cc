#include <immintrin.h>

#include "kernels/rms_norm/args.h"

namespace forge {
namespace {

constexpr std::size_t kWidth = 16;

// A mask that selects the first `count` of sixteen lanes; all of them if count is larger.
__mmask16 first_lanes(std::size_t count) noexcept {
  return count >= kWidth ? static_cast<__mmask16>(0xffff)
                         : static_cast<__mmask16>((1u << count) - 1u);
}

float sum_of_squares(const float* x, std::size_t dim) noexcept {
  __m512 even = _mm512_setzero_ps(), odd = _mm512_setzero_ps();
  std::size_t i = 0;
  for (; i + 2 * kWidth <= dim; i += 2 * kWidth) {
    const __m512 first = _mm512_loadu_ps(x + i), second = _mm512_loadu_ps(x + i + kWidth);
    even = _mm512_fmadd_ps(first, first, even);
    odd = _mm512_fmadd_ps(second, second, odd);
  }
  for (; i < dim; i += kWidth) {
    const __m512 v = _mm512_maskz_loadu_ps(first_lanes(dim - i), x + i);
    even = _mm512_fmadd_ps(v, v, even);
  }
  return _mm512_reduce_add_ps(_mm512_add_ps(even, odd));
}

float reciprocal_rms(float sum, std::size_t dim, float eps) noexcept {
  const __m128 mean = _mm_set_ss(sum / static_cast<float>(dim) + eps);
  return 1.0f / _mm_cvtss_f32(_mm_sqrt_ss(mean));
}

}  // namespace

void rms_norm_f32_avx512(const RmsNormF32& a, Share share) noexcept {
  const Range rows = split(a.rows, share);
  const float* x = a.x + static_cast<std::ptrdiff_t>(rows.begin) * a.x_stride;
  float* out = a.out + static_cast<std::ptrdiff_t>(rows.begin) * a.out_stride;
  for (std::size_t row = rows.begin; row < rows.end; ++row, x += a.x_stride, out += a.out_stride) {
    const __m512 scale = _mm512_set1_ps(reciprocal_rms(sum_of_squares(x, a.dim), a.dim, a.eps));
    for (std::size_t i = 0; i < a.dim; i += kWidth) {
      const __mmask16 mask = first_lanes(a.dim - i);
      __m512 v = _mm512_mul_ps(_mm512_maskz_loadu_ps(mask, x + i), scale);
      if (a.w != nullptr) v = _mm512_mul_ps(v, _mm512_maskz_loadu_ps(mask, a.w + i));
      _mm512_mask_storeu_ps(out + i, mask, v);
    }
  }
}

}  // namespace forge
