#include <utility>

#include "kernels/linear/vec_avx512.inc"
#include "kernels/linear_i8/args.h"

namespace forge {
namespace {

// Up to four rows go without tiles: as fast as memory gives weights.
constexpr std::size_t kRows = 4, kVectors = 2, kStreamRows = 4;
constexpr std::size_t kVnniGroupBlock = 16;
constexpr bool kUnsignedWeights = false;

}  // namespace
}  // namespace forge

#include "kernels/linear_i8/vnni.inc"

#include "kernels/linear_i8/product.inc"

#include "kernels/linear_i8/amx_tile.inc"

namespace forge {
namespace {

// Sums times both scales, in place.
FORGE_INLINE const float* scale_sums(std::int32_t* sums, const float* x_scale, const float* w_scale,
                                     std::size_t columns, std::size_t rows,
                                     std::size_t vectors) noexcept {
  auto* out = reinterpret_cast<float*>(sums);
  const Vec by_column[kVectors] = {
      load_first(w_scale, smaller(columns, kWidth)),
      vectors == 1 ? fill(0.0f) : load_first(w_scale + kWidth, columns - kWidth)};
  const auto scale_one = [&](std::size_t at, Vec by_row, Vec factors) {
    const Vec sum = _mm512_maskz_cvtepi32_ps(0xffff, _mm512_load_si512(sums + at));
    store(out + at, mul(mul(sum, by_row), factors));
  };
  for (std::size_t r = 0; r < rows; ++r) {
    const Vec by_row = fill(x_scale[r]);
    scale_one(r * vectors * kWidth, by_row, by_column[0]);
    if (vectors == 2) scale_one((r * 2 + 1) * kWidth, by_row, by_column[1]);
  }
  return out;
}

// Strips of columns that stay in a cache while all rows pass. A block of rows
// finds results beside those of the strip before, so that writing them needs
// few pages: three times as fast for 50257 columns as one strip in all rows
// after another.
constexpr std::size_t kGroupBytes = std::size_t{128} << 10;

struct Group {
  std::size_t begin, end;  // vectors
  std::size_t next;        // the vector that is read after it
};

struct Walk {
  Rows rows;
  QuantizedWeights w, up;
  std::size_t shaped_for;  // rows of a block
};

// One strip of columns in one block of rows. `ahead` bytes of the packed
// matrices are prefetched.
void multiply_strip(Walk& walk, const Strip& strip, std::size_t row, std::size_t ahead,
                    std::size_t lines, const Epilogue& e) noexcept {
  alignas(64) std::int32_t sums[2][kBlockRows * kPanel];
  const Rows& rows = walk.rows;
  const std::size_t begin = packed_at(strip.begin, rows.groups);
  Block block{.x = rows.x + static_cast<std::ptrdiff_t>(row) * rows.stride,
              .x_stride = static_cast<std::size_t>(rows.stride),
              .w = walk.w.packed + begin,
              .step = strip.step,
              .height = walk.shaped_for,
              .depth = rows.depth,
              .ahead = walk.w.packed + ahead,
              .lines = lines};
  multiply_block(block, strip.vectors, sums[0]);
  const float* const x_scale = rows.scale + row;
  const std::size_t column = strip.begin * kWidth;
  const float* gate =
      scale_sums(sums[0], x_scale, walk.w.scale + column, e.columns, block.height, strip.vectors);
  const float* factor = nullptr;
  if (walk.up.packed != nullptr) {
    block.w = walk.up.packed + begin;
    block.ahead = walk.up.packed + ahead;
    multiply_block(block, strip.vectors, sums[1]);
    factor = scale_sums(sums[1], x_scale, walk.up.scale + column, e.columns, block.height,
                        strip.vectors);
  }
  finish(e, gate, factor, block.height, strip.vectors);
}

void multiply_group(Walk& walk, const LinearI8& a, const Piece& piece, std::size_t part,
                    const Group& group) noexcept {
  const Rows& rows = walk.rows;
  const std::size_t depths = rows.depth / kTileDepth;
  const std::size_t strips = divide_up(group.end - group.begin, kVectors);
  const std::size_t steps = divide_up(rows.count, kBlockRows) * strips * depths;
  const std::size_t bytes = (group.end - group.begin) * kWidth * kDepths * rows.groups;
  const std::size_t lines = steps == 0 ? 0 : divide_up(bytes / kLine, steps);
  std::size_t ahead = packed_at(group.next, rows.groups);
  for (std::size_t row = 0; row < rows.count; row += kBlockRows) {
    const std::size_t height = smaller(kBlockRows, rows.count - row);
    if (height != walk.shaped_for) shape_tiles(walk.shaped_for = height);
    for (std::size_t v = group.begin; v < group.end;) {
      const Strip strip = strip_at(a.columns[part], rows.count, v, group.end);
      v += strip.vectors;
      multiply_strip(walk, strip, row, ahead, lines,
                     epilogue_at(a, part, piece.rows.begin + row, strip.begin * kWidth,
                                 strip.vectors * kWidth));
      ahead += lines * kLine * depths;
    }
  }
}

void run_tiles(const LinearI8& a, const Piece& piece) noexcept {
  Walk walk{.rows = rows_of(a, piece.rows), .w = {}, .up = {a.up, a.up_scale}, .shaped_for = 0};
  const std::size_t strip_bytes = kPanel * kDepths * walk.rows.groups * (a.up == nullptr ? 1 : 2);
  const std::size_t fit = kGroupBytes / (strip_bytes + 1);
  const std::size_t most = kVectors * (fit > 0 ? fit : 1);
  for_each_part(a, piece.vectors, [&](std::size_t part, Range vectors) {
    walk.w = {a.w[part], a.w_scale[part]};
    for (std::size_t v = vectors.begin; v < vectors.end;) {
      Group group{v, smaller(v / kVectors * kVectors + most, vectors.end), v};
      v = group.end;
      if (v < vectors.end) group.next = v;
      multiply_group(walk, a, piece, part, group);
    }
  });
  if (walk.shaped_for != 0) _tile_release();
}

}  // namespace

void linear_i8_amx(const LinearI8& args, Share share) noexcept {
  const Piece piece = piece_of(args.rows, total_vectors(args), share);
  if (piece.rows.end <= piece.rows.begin + kStreamRows) return run(args, share);
  run_tiles(args, piece);
}

void linear_pack_i8_amx(const LinearPackI8& args, Share share) noexcept { pack(args, share); }

void linear_gather_i8_amx(const LinearGather& args, Share share) noexcept {
  gather_packed<std::int8_t, kUnsignedWeights>(args, share);
}

}  // namespace forge
