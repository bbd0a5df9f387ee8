// Keys and values of one head for the rows that a chain of shards brings.
//
// Attention multiplies tiles of keys (8 keys x 8 features) by queries, and tiles of values
// (8 features x 8 keys) by weights: both stand on the left. The projections leave tiles of
// 8 features x 4 keys, so two of these are joined: as they are for values, turned for keys.
#pragma once

#include "forge_aie/sharded/tiles.h"

namespace forge_aie::sharded {

// 8 features x 4 keys -> 4 keys x 8 features. Three perfect shuffles, each of which moves the top
// bit of a lane's number to its bottom; in 16 bits, since there are no vector shuffles of bytes.
inline aie::vector<int8, kLanes> turned(const aie::vector<int8, kLanes>& tile) {
  aie::vector<int16, kLanes> wide = tile.unpack();
  for (unsigned step = 0; step < 3; ++step) chess_unroll_loop() {
      const auto [low, high] =
          aie::interleave_zip(wide.template extract<16>(0), wide.template extract<16>(1), 1);
      wide = aie::concat(low, high);
    }
  return wide.pack();
}

// Two tiles of 8 features x 4 keys side by side: 8 features x 8 keys.
inline aie::vector<int8, 2 * kLanes> beside(const aie::vector<int8, kLanes>& left,
                                            const aie::vector<int8, kLanes>& right) {
  const auto [low, high] =
      aie::interleave_zip(left.template cast_to<int32>(), right.template cast_to<int32>(), 1);
  return aie::concat(low, high).template cast_to<int8>();
}

// Config: Keys and Values (layers: inputs, outputs = size of a head), keys (a multiple of 8).
// in: rows of x. out: for every 8 keys, for every 8 features, a tile of keys and one of values.
template <typename Config>
inline void keys_values(input_stream_int8* in, output_stream_int8* out) {
  using Keys = typename Config::Keys;
  using Values = typename Config::Values;
  constexpr unsigned blocks = Config::keys / 8;
  constexpr unsigned group = Keys::inputs / kTileFeatures * kTileBytes;  // bytes of 4 rows
  constexpr unsigned parts = Keys::outputs / kTileFeatures;
  constexpr unsigned tiles = 2 * group / kTileBytes;       // of a block of 8 keys
  constexpr unsigned ahead = (tiles + parts - 1) / parts;  // tiles of the next block read a round
  alignas(32) int8 x[2][2 * group];
  read_tiles<tiles>(in, x[0]);
  for (unsigned b = 0; b < blocks; ++b) {
    const int8* now = x[b % 2];
    int8* next = x[(b + 1) % 2];
    for (unsigned m = 0; m < parts; ++m) chess_prepare_for_pipelining {
        const auto k0 = requantise<Keys>(tile_sums<Keys>(m, now).template to_vector<int32>(0));
        const auto k1 =
            requantise<Keys>(tile_sums<Keys>(m, now + group).template to_vector<int32>(0));
        const auto v0 = requantise<Values>(tile_sums<Values>(m, now).template to_vector<int32>(0));
        const auto v1 =
            requantise<Values>(tile_sums<Values>(m, now + group).template to_vector<int32>(0));
        writeincr(out, turned(k0));
        writeincr(out, turned(k1));
        const auto values = beside(v0, v1);
        writeincr(out, values.template extract<kLanes>(0));
        writeincr(out, values.template extract<kLanes>(1));
        // The next block arrives while this one is multiplied.
        for (unsigned t = m * ahead; t < (m + 1) * ahead && t < tiles && b + 1 < blocks; ++t) {
          aie::store_v(next + t * kTileBytes, readincr_v<kTileBytes>(in));
        }
      }
  }
}

}  // namespace forge_aie::sharded
