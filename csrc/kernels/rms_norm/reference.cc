#include <cmath>

#include "kernels/rms_norm/args.h"

namespace forge {
namespace {

// Partial sums keep the rounding error of long rows small and let the compiler vectorise.
constexpr std::size_t kLanes = 16;

float sum_of_squares(const float* x, std::size_t dim) noexcept {
  float lanes[kLanes] = {};
  std::size_t i = 0;
  for (; i + kLanes <= dim; i += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) lanes[lane] += x[i + lane] * x[i + lane];
  }
  for (std::size_t lane = 0; i + lane < dim; ++lane) lanes[lane] += x[i + lane] * x[i + lane];
  for (std::size_t width = kLanes / 2; width > 0; width /= 2) {
    for (std::size_t lane = 0; lane < width; ++lane) lanes[lane] += lanes[lane + width];
  }
  return lanes[0];
}

}  // namespace

void rms_norm_f32_reference(const RmsNormF32& a, Share share) noexcept {
  const Range rows = split(a.rows, share);
  const float* x = a.x + static_cast<std::ptrdiff_t>(rows.begin) * a.x_stride;
  float* out = a.out + static_cast<std::ptrdiff_t>(rows.begin) * a.out_stride;
  for (std::size_t row = rows.begin; row < rows.end; ++row, x += a.x_stride, out += a.out_stride) {
    const float mean = sum_of_squares(x, a.dim) / static_cast<float>(a.dim);
    const float scale = 1.0f / std::sqrt(mean + a.eps);
    for (std::size_t i = 0; i < a.dim; ++i) {
      const float normalised = x[i] * scale;
      out[i] = a.w == nullptr ? normalised : normalised * a.w[i];
    }
  }
}

}  // namespace forge
