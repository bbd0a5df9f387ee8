#include "kernels/conv1d/args.h"

namespace forge {
namespace {

// Channels and times of one tile: 16 x 16 floats are the cache lines of either layout.
constexpr std::size_t kTile = 16;

struct Tile {
  std::size_t batch, channel, time, width, height;  // width channels, height times
};

std::ptrdiff_t offset(const std::ptrdiff_t* strides, const Tile& t, std::ptrdiff_t time) noexcept {
  return static_cast<std::ptrdiff_t>(t.batch) * strides[0] +
         static_cast<std::ptrdiff_t>(t.channel) * strides[1] + time * strides[2];
}

// Adds one tap to the sums of all channels at one time.
void add_tap(float* sums, const float* x, std::ptrdiff_t x_stride, const float* w,
             std::size_t width) noexcept {
  if (x_stride == 1) {
    for (std::size_t c = 0; c < width; ++c) sums[c] += w[c] * x[c];
  } else {
    for (std::size_t c = 0; c < width; ++c, x += x_stride) sums[c] += w[c] * *x;
  }
}

void run_tile(const Conv1d& a, const Tile& t) noexcept {
  float sums[kTile][kTile];
  for (std::size_t i = 0; i < t.height; ++i) {
    for (std::size_t c = 0; c < t.width; ++c) {
      sums[i][c] = a.bias == nullptr ? 0.0f : a.bias[t.channel + c];
    }
  }
  for (std::size_t k = 0; k < a.taps; ++k) {
    float w[kTile];
    const float* from = a.w + static_cast<std::ptrdiff_t>(t.channel) * a.w_strides[0] +
                        static_cast<std::ptrdiff_t>(k) * a.w_strides[1];
    for (std::size_t c = 0; c < t.width; ++c, from += a.w_strides[0]) w[c] = *from;
    for (std::size_t i = 0; i < t.height; ++i) {
      const std::size_t padded = t.time + i + k;
      if (padded < a.padding || padded - a.padding >= a.length) continue;
      const auto time = static_cast<std::ptrdiff_t>(padded - a.padding);
      add_tap(sums[i], a.x + offset(a.x_strides, t, time), a.x_strides[1], w, t.width);
    }
  }
  float* const out = a.out + offset(a.out_strides, t, static_cast<std::ptrdiff_t>(t.time));
  for (std::size_t c = 0; c < t.width; ++c) {
    float* to = out + static_cast<std::ptrdiff_t>(c) * a.out_strides[1];
    for (std::size_t i = 0; i < t.height; ++i, to += a.out_strides[2]) *to = sums[i][c];
  }
}

std::size_t rest(std::size_t size, std::size_t begin) noexcept {
  return size - begin < kTile ? size - begin : kTile;
}

}  // namespace

void conv1d_reference(const Conv1d& a, Share share) noexcept {
  const std::size_t across = (a.channels + kTile - 1) / kTile;
  const std::size_t down = (a.out_length + kTile - 1) / kTile;
  const Range range = split(a.batch * across * down, share);
  for (std::size_t at = range.begin; at < range.end; ++at) {
    const std::size_t channel = at / down % across * kTile, time = at % down * kTile;
    run_tile(a, {at / (down * across), channel, time, rest(a.channels, channel),
                 rest(a.out_length, time)});
  }
}

}  // namespace forge
