#include <utility>

#include "kernels/linear/vec_avx512.inc"
#include "kernels/linear_i8/args.h"

namespace forge {
namespace {

// Up to four rows go without tiles: as fast as memory gives weights.
constexpr std::size_t kRows = 4, kVectors = 2, kStreamRows = 4;
constexpr std::size_t kVnniGroupBlock = 16;

}  // namespace
}  // namespace forge

#include "kernels/linear_i8/vnni.inc"

#include "kernels/linear_i8/product.inc"

#include "kernels/linear_i8/amx_tile.inc"

namespace forge {
namespace {

// Sums times both scales, in place.
FORGE_INLINE const float* scale_sums(std::int32_t* sums, const float* x_scale,
                                     const Columns& columns, std::size_t rows,
                                     std::size_t vectors) noexcept {
  auto* out = reinterpret_cast<float*>(sums);
  for (std::size_t r = 0; r < rows; ++r) {
    const Vec by_row = fill(x_scale[r]);
    for (std::size_t v = 0; v < vectors; ++v) {
      const std::size_t at = (r * vectors + v) * kWidth;
      const Vec sum = _mm512_maskz_cvtepi32_ps(0xffff, _mm512_load_si512(sums + at));
      store(out + at, mul(mul(sum, by_row), load(columns.scales + v * kWidth)));
    }
  }
  return out;
}

// One strip of columns in all rows, as multiply_strip. `height` is what the tiles are shaped for.
void multiply_blocks(const Rows& rows, const QuantizedWeights& w, const QuantizedWeights& up,
                     const Strip& strip, std::size_t next, const Epilogue& common,
                     std::size_t& height) noexcept {
  alignas(64) std::int32_t sums[2][kBlockRows * kPanel];
  Columns columns[2];
  const bool gated = up.packed != nullptr;
  load_columns(w, strip.begin * kWidth, common.columns, columns[0]);
  if (gated) load_columns(up, strip.begin * kWidth, common.columns, columns[1]);
  const std::size_t begin = packed_at(strip.begin, rows.groups);
  const std::size_t steps = divide_up(rows.count, kBlockRows) * (rows.depth / kTileDepth);
  const std::size_t lines = steps == 0 ? 0 : divide_up(strip.step * rows.groups / kLine, steps);
  std::size_t ahead = packed_at(next, rows.groups);
  for (std::size_t row = 0; row < rows.count; row += kBlockRows) {
    const auto at = static_cast<std::ptrdiff_t>(row);
    const std::size_t wanted = smaller(kBlockRows, rows.count - row);
    if (wanted != height) shape_tiles(height = wanted);
    Block block{.x = rows.x + at * rows.stride,
                .x_stride = static_cast<std::size_t>(rows.stride),
                .w = w.packed + begin,
                .step = strip.step,
                .height = height,
                .depth = rows.depth,
                .ahead = w.packed + ahead,
                .lines = lines};
    multiply_block(block, strip.vectors, sums[0]);
    const float* gate = scale_sums(sums[0], rows.scale + row, columns[0], height, strip.vectors);
    const float* factor = nullptr;
    if (gated) {
      block.w = up.packed + begin;
      block.ahead = up.packed + ahead;
      multiply_block(block, strip.vectors, sums[1]);
      factor = scale_sums(sums[1], rows.scale + row, columns[1], height, strip.vectors);
    }
    ahead += lines * kLine * (rows.depth / kTileDepth);
    Epilogue e = common;
    e.residual = advance(e.residual, e.residual_type, at * e.residual_stride);
    e.out = advance(e.out, e.out_type, at * e.out_stride);
    finish(e, gate, factor, height, strip.vectors);
  }
}

void run_tiles(const LinearI8& a, const Piece& piece) noexcept {
  const Rows rows = rows_of(a, piece.rows);
  const QuantizedWeights up{a.up, a.up_scale, a.up_sums};
  std::size_t height = 0;
  for_each_part(a, piece.vectors, [&](std::size_t part, Range vectors) {
    const QuantizedWeights w{a.w[part], a.w_scale[part], a.w_sums[part]};
    for (std::size_t v = vectors.begin; v < vectors.end;) {
      const Strip strip = strip_at(a.columns[part], rows.count, v, vectors.end);
      v += strip.vectors;
      multiply_blocks(
          rows, w, up, strip, v < vectors.end ? v : strip.begin,
          epilogue_at(a, part, piece.rows.begin, strip.begin * kWidth, strip.vectors * kWidth),
          height);
    }
  });
  if (height != 0) _tile_release();
}

}  // namespace

void linear_i8_amx(const LinearI8& args, Share share) noexcept {
  const Piece piece = piece_of(args.rows, total_vectors(args), share);
  if (piece.rows.end <= piece.rows.begin + kStreamRows) return run(args, share);
  run_tiles(args, piece);
}

void linear_pack_i8_amx(const LinearPackI8& args, Share share) noexcept { pack(args, share); }

void linear_gather_i8_amx(const LinearGather& args, Share share) noexcept {
  gather_packed<std::int8_t>(args, share);
}

}  // namespace forge
