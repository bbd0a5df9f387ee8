#include "kernels/linear/vec_avx512.inc"

namespace forge {
namespace {

// Shares divide tiles of rows; a panel is two tiles of weights, of 16 groups each.
constexpr std::size_t kRows = 16, kVectors = 2, kGroupBlock = 16;

}  // namespace
}  // namespace forge

// In this order each needs the one before it.
#include "kernels/linear/epilogue.inc"
#include "kernels/linear/layout.inc"
#include "kernels/linear/pack.inc"
// After the panels of layout.inc.
#include "kernels/linear/amx.inc"

namespace forge {
namespace {

constexpr std::size_t kBlockSteps = 8;  // of depth: 16 KiB of weights

// Rows of one block: `tiles` of `height` rows, of which the last ends at the last row.
struct RowBlock {
  Range rows;
  std::size_t tiles, height;
  const Bf16* x;
  std::ptrdiff_t x_stride;
  std::size_t steps;      // whole ones
  const Bf16* remainder;  // kTileDepth depths a row, or null
  float* sums;            // of a panel; behind them those of the other factor of a gate
};

constexpr std::size_t kPanelSums = kLinearRowBlock * kPanel;

std::size_t row_of(const RowBlock& block, std::size_t tile) noexcept {
  return smaller(tile * block.height, block.rows.end - block.rows.begin - block.height);
}

// Adjacent columns of one panel.
struct Columns {
  std::size_t vectors, width;  // one or two; of the whole panel, in lanes
};

// One block of depth: `job` has all but what depends on the rows.
void multiply_rows(const RowBlock& block, Columns columns, std::size_t depth, bool last,
                   TileJob job, float* sums) noexcept {
  const std::size_t pairs = divide_up(block.tiles, 2), lines = divide_up(columns.width, pairs);
  const std::size_t choice = lines <= 8 ? 0 : (lines <= 16 ? 1 : 2);
  for (std::size_t tile = 0; tile < block.tiles; tile += 2) {
    const std::size_t count = smaller(2, block.tiles - tile);
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t row = row_of(block, tile + i);
      job.x[i] = block.x + static_cast<std::ptrdiff_t>(row) * block.x_stride + depth;
      job.remainder[i] =
          last && block.remainder != nullptr ? block.remainder + row * kTileDepth : nullptr;
      job.sums[i] = sums + (tile + i) * block.height * columns.vectors * kWidth;
    }
    kMultiplyBlock[count - 1][columns.vectors - 1][choice](job);
    job.ahead += (std::size_t{8} << choice) * 64 * job.steps;
  }
}

// The sums of all rows of the block. The panel at `next` is read after this one.
void multiply_panel(const RowBlock& block, Columns columns, const float* w, const float* next,
                    float* sums) noexcept {
  const std::size_t lanes = 16 * columns.width;  // of a step
  std::size_t step = 0;
  do {
    // A block of less than half the size joins the one before it.
    const std::size_t left = block.steps - step;
    const std::size_t steps = left < kBlockSteps + kBlockSteps / 2 ? left : kBlockSteps;
    const bool last = steps == left;
    const float* ahead = last ? next : w + (step + steps) * lanes;
    const TileJob job{.x = {},
                      .remainder = {},
                      .x_bytes = block.x_stride * static_cast<std::ptrdiff_t>(sizeof(Bf16)),
                      .w = w + step * lanes,
                      .w_width = columns.width,
                      .steps = steps,
                      .first = step == 0,
                      .sums = {},
                      .ahead = reinterpret_cast<const char*>(ahead)};
    multiply_rows(block, columns, step * kTileDepth, last, job, sums);
    step += steps;
  } while (step < block.steps);
}

// The last tile's first rows may be rows of the tile before it, which must not be done twice.
void finish_rows(const RowBlock& block, Epilogue e, bool gated, std::size_t vectors) noexcept {
  const std::size_t rows = block.rows.end - block.rows.begin;
  const std::size_t before = (block.tiles - 1) * block.height;
  const std::size_t skipped = (block.tiles * block.height - rows + before) * vectors * kWidth;
  const float* up = gated ? block.sums + kPanelSums : nullptr;
  finish(e, block.sums, up, before, vectors);
  const auto down = static_cast<std::ptrdiff_t>(before);
  e.residual = advance(e.residual, e.residual_type, down * e.residual_stride);
  e.out = advance(e.out, e.out_type, down * e.out_stride);
  finish(e, block.sums + skipped, gated ? up + skipped : nullptr, rows - before, vectors);
}

void multiply_columns(const LinearBf16& a, const RowBlock& block, Range vectors) noexcept {
  const std::size_t groups = packed_groups<Bf16>(a.depth);
  const auto* up = reinterpret_cast<const float*>(a.up);
  for_each_part(a, vectors, [&](std::size_t part, Range of_part) {
    const auto* w = reinterpret_cast<const float*>(a.w[part]);
    for (std::size_t v = of_part.begin; v < of_part.end;) {
      const std::size_t begin = v, at = packed_offset(begin, groups);
      const Columns columns{smaller(kVectors - v % kVectors, of_part.end - v),
                            panel_width(a.columns[part], v / kVectors)};
      v += columns.vectors;
      const float* next = w + packed_offset(v < of_part.end ? v : begin, groups);
      multiply_panel(block, columns, w + at, up == nullptr ? next : up + at, block.sums);
      if (up != nullptr) {
        multiply_panel(block, columns, up + at, next, block.sums + kPanelSums);
      }
      const Epilogue e =
          epilogue_at(a, part, block.rows.begin, begin * kWidth, columns.vectors * kWidth);
      finish_rows(block, e, up != nullptr, columns.vectors);
    }
  });
}

// The depths beyond the last whole step, with zeros behind them.
void copy_remainder(const RowBlock& block, std::size_t depth, Bf16* to) noexcept {
  const std::size_t done = depth / kTileDepth * kTileDepth, left = depth - done;
  const auto mask = static_cast<__mmask32>((std::uint32_t{1} << left) - 1);
  for (std::size_t row = 0; row < block.rows.end - block.rows.begin; ++row, to += kTileDepth) {
    const Bf16* from = block.x + static_cast<std::ptrdiff_t>(row) * block.x_stride + done;
    _mm512_storeu_si512(to, _mm512_maskz_loadu_epi16(mask, from));
  }
}

}  // namespace

void linear_bf16_amx(const LinearBf16& a, Share share) noexcept {
  const Piece piece = piece_of(a.rows, total_vectors(a), share);
  if (piece.rows.begin >= piece.rows.end || piece.vectors.begin >= piece.vectors.end) return;
  alignas(64) Bf16 remainder[kLinearRowBlock * kTileDepth];
  const std::size_t rows = piece.rows.end - piece.rows.begin;
  const std::size_t blocks = divide_up(rows, kLinearRowBlock);
  for (std::size_t i = 0; i < blocks; ++i) {
    const Range part = split(rows, {static_cast<unsigned>(i), static_cast<unsigned>(blocks)});
    RowBlock block{};
    block.rows = {piece.rows.begin + part.begin, piece.rows.begin + part.end};
    block.tiles = divide_up(part.end - part.begin, kTileRows);
    block.height = divide_up(part.end - part.begin, block.tiles);
    block.x = a.x + static_cast<std::ptrdiff_t>(block.rows.begin) * a.x_stride;
    block.x_stride = a.x_stride;
    block.steps = a.depth / kTileDepth;
    if (a.depth % kTileDepth != 0) {
      copy_remainder(block, a.depth, remainder);
      block.remainder = remainder;
    }
    block.sums = reinterpret_cast<float*>(static_cast<char*>(a.scratch) +
                                          share.index * linear_scratch_bytes(a.rows, a.depth));
    configure_tiles(block.height);
    multiply_columns(a, block, piece.vectors);
  }
  _tile_release();
}

void linear_pack_bf16_amx(const LinearPackBf16& args, Share share) noexcept {
  pack_bf16(args, share);
}

}  // namespace forge
