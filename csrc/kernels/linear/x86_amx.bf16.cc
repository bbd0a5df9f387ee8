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
  std::size_t steps;  // of kTileDepth
  Bf16* x;            // tile after tile of rows, in each step after step
  float* sums;        // of a panel; behind them those of the other factor of a gate
};

constexpr std::size_t kPanelSums = kLinearRowBlock * kPanel;

// Adjacent columns of one panel.
struct Columns {
  std::size_t vectors, width;  // one or two; of the whole panel, in lanes
};

// The rows of one or two tiles. The last tile's first rows may be rows of the tile before it, which
// must not be done twice.
void finish_tiles(const RowBlock& block, Epilogue e, const float* up, std::size_t tile,
                  std::size_t count, std::size_t vectors) noexcept {
  const std::size_t rows = block.rows.end - block.rows.begin;
  const float* sums = block.sums;
  for (std::size_t t = tile; t < tile + count; ++t) {
    const std::size_t row = t * block.height, at = row * vectors * kWidth;
    const std::size_t again = t + 1 < block.tiles ? 0 : row + block.height - rows;
    const std::size_t skipped = at + again * vectors * kWidth;
    const auto down = static_cast<std::ptrdiff_t>(row);
    Epilogue of_tile = e;
    of_tile.residual = advance(e.residual, e.residual_type, down * e.residual_stride);
    of_tile.out = advance(e.out, e.out_type, down * e.out_stride);
    finish(of_tile, sums + skipped, up == nullptr ? nullptr : up + skipped, block.height - again,
           vectors);
  }
}

// One block of depth: `job` has all but what depends on the rows. With the last block of a panel
// comes what to do with its sums.
void multiply_rows(const RowBlock& block, Columns columns, std::size_t step, TileJob job,
                   float* sums, const Epilogue* epilogue) noexcept {
  const std::size_t pairs = divide_up(block.tiles, 2), lines = divide_up(columns.width, 2 * pairs);
  const std::size_t choice = lines <= 4 ? 0 : (lines <= 8 ? 1 : 2);
  const float* up = sums == block.sums ? nullptr : sums;
  job.x_step = block.height * kTileDepth;
  for (std::size_t tile = 0; tile < block.tiles; tile += 2) {
    const std::size_t count = smaller(2, block.tiles - tile);
    for (std::size_t i = 0; i < count; ++i) {
      job.x[i] = block.x + ((tile + i) * block.steps + step) * job.x_step;
      job.sums[i] = sums + (tile + i) * block.height * columns.vectors * kWidth;
    }
    kMultiplyBlock[count - 1][columns.vectors - 1][choice](job);
    job.ahead += (std::size_t{4} << choice) * 64 * job.steps;
    if (epilogue != nullptr) finish_tiles(block, *epilogue, up, tile, count, columns.vectors);
  }
}

// The sums of all rows of the block. The panel at `next` is read after this one.
void multiply_panel(const RowBlock& block, Columns columns, const float* w, const float* next,
                    float* sums, const Epilogue* epilogue) noexcept {
  const std::size_t lanes = 16 * columns.width;  // of a step
  std::size_t step = 0;
  do {
    // A block of less than half the size joins the one before it.
    const std::size_t left = block.steps - step;
    const std::size_t steps = left < kBlockSteps + kBlockSteps / 2 ? left : kBlockSteps;
    const bool last = steps == left;
    const float* ahead = last ? next : w + (step + steps) * lanes;
    const TileJob job{.x = {},
                      .x_step = 0,
                      .w = w + step * lanes,
                      .w_width = columns.width,
                      .steps = steps,
                      .first = step == 0,
                      .sums = {},
                      .ahead = reinterpret_cast<const char*>(ahead),
                      .ahead_bytes = static_cast<std::ptrdiff_t>(steps * lanes * 2)};
    multiply_rows(block, columns, step, job, sums, last ? epilogue : nullptr);
    step += steps;
  } while (step < block.steps);
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
      const Epilogue e =
          epilogue_at(a, part, block.rows.begin, begin * kWidth, columns.vectors * kWidth);
      if (up == nullptr) {
        multiply_panel(block, columns, w + at, next, block.sums, &e);
      } else {
        multiply_panel(block, columns, w + at, up + at, block.sums, nullptr);
        multiply_panel(block, columns, up + at, next, block.sums + kPanelSums, &e);
      }
    }
  });
}

// Copies the rows into tiles; depths beyond the last one are zero. Tiles of x as it lies would be
// rows that compete for a few sets of the cache, and the last one would read beyond the rows.
void copy_x(const LinearBf16& a, const RowBlock& block) noexcept {
  const std::size_t rows = block.rows.end - block.rows.begin;
  const std::size_t whole = a.depth / kTileDepth, left = a.depth % kTileDepth;
  const auto mask = static_cast<__mmask32>((std::uint32_t{1} << left) - 1);
  const std::size_t step_elements = block.height * kTileDepth;
  Bf16* tile = block.x;
  for (std::size_t t = 0; t < block.tiles; ++t, tile += block.steps * step_elements) {
    const std::size_t first = block.rows.begin + smaller(t * block.height, rows - block.height);
    for (std::size_t r = 0; r < block.height; ++r) {
      const Bf16* from = a.x + static_cast<std::ptrdiff_t>(first + r) * a.x_stride;
      Bf16* to = tile + r * kTileDepth;
      for (std::size_t step = 0; step < whole; ++step, from += kTileDepth, to += step_elements) {
        _mm512_store_si512(to, _mm512_loadu_si512(from));
      }
      if (left != 0) _mm512_store_si512(to, _mm512_maskz_loadu_epi16(mask, from));
    }
  }
}

}  // namespace

void linear_bf16_amx(const LinearBf16& a, Share share) noexcept {
  const Piece piece = piece_of(a.rows, total_vectors(a), share);
  if (piece.rows.begin >= piece.rows.end || piece.vectors.begin >= piece.vectors.end) return;
  const std::size_t rows = piece.rows.end - piece.rows.begin;
  const std::size_t blocks = divide_up(rows, kLinearRowBlock);
  for (std::size_t i = 0; i < blocks; ++i) {
    const Range part = split(rows, {static_cast<unsigned>(i), static_cast<unsigned>(blocks)});
    RowBlock block{};
    block.rows = {piece.rows.begin + part.begin, piece.rows.begin + part.end};
    block.tiles = divide_up(part.end - part.begin, kTileRows);
    block.height = divide_up(part.end - part.begin, block.tiles);
    block.steps = divide_up(a.depth, kTileDepth);
    block.sums = reinterpret_cast<float*>(static_cast<char*>(a.scratch) +
                                          share.index * linear_scratch_bytes(a.rows, a.depth));
    block.x = reinterpret_cast<Bf16*>(block.sums + 2 * kPanelSums);
    copy_x(a, block);
    configure_tiles(block.height);
    multiply_columns(a, block, piece.vectors);
  }
  _tile_release();
}

void linear_pack_bf16_amx(const LinearPackBf16& args, Share share) noexcept {
  pack_bf16(args, share);
}

void linear_gather_bf16_amx(const LinearGather& args, Share share) noexcept {
  gather_packed<Bf16>(args, share);
}

}  // namespace forge
