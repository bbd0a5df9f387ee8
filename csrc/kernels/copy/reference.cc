#include <cstdint>
#include <cstring>

#include "kernels/copy/args.h"

namespace forge {
namespace {

constexpr std::size_t kInner = kCopyDims - 1, kTile = 16;

// Where position `at` of the loops before `dims` lies in a tensor of these strides.
std::ptrdiff_t place(const Copy& a, const std::ptrdiff_t* strides, std::size_t dims,
                     std::size_t at) noexcept {
  std::ptrdiff_t offset = 0;
  for (std::size_t dim = dims; dim-- > 0; at /= a.sizes[dim]) {
    offset += static_cast<std::ptrdiff_t>(at % a.sizes[dim]) * strides[dim];
  }
  return offset;
}

std::size_t count(const Copy& a, std::size_t dims) noexcept {
  std::size_t total = 1;
  for (std::size_t dim = 0; dim < dims; ++dim) total *= a.sizes[dim];
  return total;
}

template <typename T>
void copy_run(T* out, std::ptrdiff_t out_stride, const T* x, std::ptrdiff_t x_stride,
              std::size_t n) noexcept {
  if (out_stride == 1 && x_stride == 1) {
    std::memcpy(out, x, n * sizeof(T));
    return;
  }
  if (x_stride == 0) {
    for (std::size_t i = 0; i < n; ++i, out += out_stride) *out = *x;
    return;
  }
  for (std::size_t i = 0; i < n; ++i, out += out_stride, x += x_stride) *out = *x;
}

// The innermost loop, cut into pieces that the shares divide up.
template <typename T>
void copy_rows(const Copy& a, Share share) noexcept {
  constexpr std::size_t kPiece = 4096;
  const std::size_t inner = a.sizes[kInner], pieces = (inner + kPiece - 1) / kPiece;
  const T* const x = static_cast<const T*>(a.x);
  T* const out = static_cast<T*>(a.out) + a.out_offset;
  const std::ptrdiff_t x_stride = a.x_strides[kInner], out_stride = a.out_strides[kInner];
  const Range range = split(count(a, kInner) * pieces, share);
  for (std::size_t at = range.begin; at < range.end; ++at) {
    const std::size_t row = at / pieces, begin = at % pieces * kPiece;
    const std::size_t n = inner - begin < kPiece ? inner - begin : kPiece;
    const auto skipped = static_cast<std::ptrdiff_t>(begin);
    copy_run(out + place(a, a.out_strides, kInner, row) + skipped * out_stride, out_stride,
             x + place(a, a.x_strides, kInner, row) + skipped * x_stride, x_stride, n);
  }
}

// A whole tile: lines of x, adjacent elements each, become columns of out. Bounds known at compile
// time let compilers keep a tile in vector registers.
template <typename T>
void transpose_tile(T* out, std::ptrdiff_t out_stride, const T* x,
                    std::ptrdiff_t x_stride) noexcept {
  constexpr std::size_t kPart = 4;
  for (std::size_t j = 0; j < kTile; j += kPart, out += kPart) {
    T lines[kPart][kTile];
    for (std::size_t k = 0; k < kPart; ++k, x += x_stride) {
      std::memcpy(lines[k], x, sizeof lines[k]);
    }
    T* to = out;
    for (std::size_t i = 0; i < kTile; ++i, to += out_stride) {
      const T column[kPart] = {lines[0][i], lines[1][i], lines[2][i], lines[3][i]};
      std::memcpy(to, column, sizeof column);
    }
  }
}

// The two innermost loops as tiles: x runs along the outer of them, out along the inner.
template <typename T>
void copy_tiles(const Copy& a, Share share) noexcept {
  constexpr std::size_t kOuter = kInner - 1;
  const std::size_t rows = a.sizes[kOuter], columns = a.sizes[kInner];
  const std::size_t down = (rows + kTile - 1) / kTile, across = (columns + kTile - 1) / kTile;
  const T* const x = static_cast<const T*>(a.x);
  T* const out = static_cast<T*>(a.out) + a.out_offset;
  const std::ptrdiff_t x_row = a.x_strides[kOuter], x_column = a.x_strides[kInner];
  const std::ptrdiff_t out_row = a.out_strides[kOuter], out_column = a.out_strides[kInner];
  const Range range = split(count(a, kOuter) * down * across, share);
  for (std::size_t at = range.begin; at < range.end; ++at) {
    const std::size_t outer = at / (down * across), tile = at % (down * across);
    const std::size_t row = tile / across * kTile, column = tile % across * kTile;
    const std::size_t height = rows - row < kTile ? rows - row : kTile;
    const std::size_t width = columns - column < kTile ? columns - column : kTile;
    const auto r = static_cast<std::ptrdiff_t>(row), c = static_cast<std::ptrdiff_t>(column);
    const T* from = x + place(a, a.x_strides, kOuter, outer) + r * x_row + c * x_column;
    T* to = out + place(a, a.out_strides, kOuter, outer) + r * out_row + c * out_column;
    if (height == kTile && width == kTile && x_row == 1 && out_column == 1) {
      transpose_tile(to, out_row, from, x_column);
      continue;
    }
    for (std::size_t i = 0; i < height; ++i, from += x_row, to += out_row) {
      copy_run(to, out_column, from, x_column, width);
    }
  }
}

std::size_t distance(std::ptrdiff_t stride) noexcept {
  return static_cast<std::size_t>(stride < 0 ? -stride : stride);
}

template <typename T>
void run(const Copy& a, Share share) noexcept {
  const std::size_t along = distance(a.x_strides[kInner]),
                    across = distance(a.x_strides[kInner - 1]);
  const bool transposes = a.sizes[kInner - 1] > 1 && across != 0 && across < along;
  if (transposes) return copy_tiles<T>(a, share);
  copy_rows<T>(a, share);
}

}  // namespace

void copy_reference(const Copy& a, Share share) noexcept {
  for (const std::size_t size : a.sizes) {
    if (size == 0) return;
  }
  switch (a.element_bytes) {
    case 1:
      return run<std::uint8_t>(a, share);
    case 2:
      return run<std::uint16_t>(a, share);
    case 4:
      return run<std::uint32_t>(a, share);
    default:
      return run<std::uint64_t>(a, share);
  }
}

}  // namespace forge
