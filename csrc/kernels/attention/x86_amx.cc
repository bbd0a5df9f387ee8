// The walk over tiles of 16 rows; a group of few rows is the same as on AVX-512.
#include "kernels/attention/vec_avx512.inc"

#include "kernels/attention/amx_tiles.inc"

namespace forge {
namespace {

// 16 rows of a group.
struct RowTile {
  Row first, middle;
  std::size_t count;
  Range keys;
  bool has_sums;
  TileStates states[2];
  Bf16* queries;
  float* sums;
};

void start_row_tile(const AttentionBf16& a, const TileScratch& s, std::size_t group, Range rows,
                    std::size_t slot, RowTile& t) noexcept {
  t.first = row_of(a, group, rows.begin);
  t.count = rows.end - rows.begin;
  t.keys = visible_to(a, rows.begin, rows.end);
  t.has_sums = false;
  t.queries = s.queries + slot * kTileRows * s.depth;
  t.sums = s.sums + slot * kTileRows * s.width;
  forget(t.states[0]);
  forget(t.states[1]);
  Row at = t.first;
  for (std::size_t r = 0; r < kTileRows; ++r, at = next_row(a, at)) {
    if (r == kHalfRows) t.middle = at;
    const Bf16* from = r < t.count ? place(a.q, a.q_strides, at.batch, at.head, at.position) : a.q;
    for (std::size_t d = 0; d < s.depth; d += kPairs) {
      const __mmask32 mask = r < t.count ? first_halves(a.size - d) : 0;
      _mm512_storeu_si512(t.queries + r * s.depth + d, _mm512_maskz_loadu_epi16(mask, from + d));
    }
  }
  for (std::size_t i = 0; i < kTileRows * s.width; i += kWidth) store(t.sums + i, fill(0.0f));
}

// Values that are not finite: a weight of zero in one of its halves would make infinity NaN.
void add_plain_values(const AttentionBf16& a, const TileScratch& s, const Bf16* v, Range keys,
                      std::size_t first, RowTile& t) noexcept {
  alignas(64) float same[kHalfRows];
  for (float& one : same) one = 1.0f;
  const Values<Bf16> values{advanced(v, offset(keys.begin, a.v_strides[2])), a.v_strides[2],
                            keys.end - keys.begin, a.value_size};
  for (std::size_t r = 0; r < kTileRows; r += kHalfRows) {
    add_values<kHalfRows>(values, s.scores + r * kScoreStride + (keys.begin - first), same,
                          t.sums + r * s.width, s.width);
  }
}

// One chunk of keys, from the multiple of 32 at or below keys.begin on.
void advance_row_tile(const AttentionBf16& a, const TileScratch& s, const Bf16* v, Range keys,
                      RowTile& t) noexcept {
  const std::size_t first = keys.begin / kPairs * kPairs;
  const std::size_t count = round_up(keys.end - first, kPairs);
  score_blocks(t.queries, s.keys + first * s.depth, s.depth, count / kTileRows, s.scores);
  const Range whole{first, first + count};
  alignas(64) float correction[2][kAttentionTileRows];
  weigh<kHalfRows, false>(a, t.first, smaller(t.count, kHalfRows), {s.scores, first, whole},
                          t.states[0], correction[0]);
  weigh<kHalfRows, false>(a, t.middle, t.count - smaller(t.count, kHalfRows),
                          {s.scores + kHalfRows * kScoreStride, first, whole}, t.states[1],
                          correction[1]);
  if (t.has_sums) {
    for (std::size_t r = 0; r < kTileRows; ++r) {
      const Vec factor = fill(correction[r / kHalfRows][r % kHalfRows]);
      float* sums = t.sums + r * s.width;
      for (std::size_t i = 0; i < s.width; i += kWidth)
        store(sums + i, mul(load(sums + i), factor));
    }
  }
  t.has_sums = true;
  bool is_finite = true;
  for (std::size_t key = first; key < first + count; key += kPairs) {
    is_finite = is_finite && s.flags[key / kPairs] == 0;
  }
  if (!is_finite) return add_plain_values(a, s, v, keys, first, t);
  split_weights(s, count);
  add_value_blocks(s, s.values + first * s.width, count / kPairs, t.sums);
}

void walk_row_tiles(const AttentionBf16& a, const TileScratch& s, std::size_t group,
                    std::size_t begin, std::size_t end, const Bf16* v) noexcept {
  RowTile tiles[kBlockTiles];
  for (std::size_t tile = begin; tile < end; tile += kBlockTiles) {
    const std::size_t count = smaller(kBlockTiles, end - tile);
    Range keys{0, 0};
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t row = (tile + i) * kTileRows;
      start_row_tile(a, s, group, {row, smaller(row + kTileRows, group_rows(a))}, i, tiles[i]);
      keys = hull(keys, tiles[i].keys);
    }
    for (std::size_t first = keys.begin / kTileChunk * kTileChunk; first < keys.end;
         first += kTileChunk) {
      for (std::size_t i = 0; i < count; ++i) {
        const Range part = meet(tiles[i].keys, {first, first + kTileChunk});
        if (part.begin < part.end) advance_row_tile(a, s, v, part, tiles[i]);
      }
    }
    for (std::size_t i = 0; i < count; ++i) {
      Row at = tiles[i].first;
      for (std::size_t r = 0; r < tiles[i].count; ++r, at = next_row(a, at)) {
        const float sum = tiles[i].states[r / kHalfRows].sum[r % kHalfRows];
        write_row(a, at, sum, tiles[i].sums + r * s.width);
      }
    }
  }
}

void run_row_tiles(const AttentionBf16& a, Share share) noexcept {
  const TileScratch s = tile_scratch(a, share);
  configure_tiles();
  for_each_group<kTileRows>(a, share, [&](std::size_t group, std::size_t begin, std::size_t end) {
    const std::size_t batch = group / a.groups, head = group % a.groups;
    const Bf16* v = place(a.v, a.v_strides, batch, head, 0);
    Range keys = visible_to(a, begin * kTileRows, smaller(end * kTileRows, group_rows(a)));
    keys.begin = keys.begin / kPairs * kPairs;
    pack_key_tiles(a, place(a.k, a.k_strides, batch, head, 0), keys, s.depth, s.keys);
    pack_value_tiles(a, v, keys, s);
    walk_row_tiles(a, s, group, begin, end, v);
  });
  _tile_release();
}

}  // namespace

void attention_bf16_amx(const AttentionBf16& a, Share share) noexcept {
  if (a.batch * a.heads * a.length == 0) return;
  if (group_rows(a) <= kDirectRows) return run_direct(a, share);
  run_row_tiles(a, share);
}

}  // namespace forge
