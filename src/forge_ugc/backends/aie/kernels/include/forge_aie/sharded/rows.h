// Layers that work on rows alone, and how the rows of a shard come and go.
//
// A kernel of a stage reads its rows, calls one function a layer, and writes: first the rows of the
// shards before it and its own to the chain that gathers all rows, then its own to its attention.
#pragma once

#include "forge_aie/sharded/tiles.h"

namespace forge_aie::sharded {

// y = clip(round_half_even((a * multiplier_a + b * multiplier_b) / 2^shift)), ReLU after the clip.
template <typename Layer, unsigned groups>
inline void add(const int8* __restrict a, const int8* __restrict b, int8* __restrict y) {
  constexpr unsigned tiles = groups * Layer::features / kTileFeatures;
  for (unsigned t = 0; t < tiles; ++t) chess_prepare_for_pipelining {
      auto sum = aie::mul(aie::load_v<kLanes>(a + t * kTileBytes).unpack(),
                          static_cast<int16>(Layer::multiplier_a));
      sum = aie::mac(sum, aie::load_v<kLanes>(b + t * kTileBytes).unpack(),
                     static_cast<int16>(Layer::multiplier_b));
      aie::store_v(y + t * kTileBytes,
                   activate<Layer::relu>(sum.template to_vector<int8>(Layer::shift)));
    }
}

// max(x, 0) for `groups` groups of rows.
template <typename Layer, unsigned groups>
inline void relu(const int8* __restrict x, int8* __restrict y) {
  constexpr unsigned tiles = groups * Layer::features / kTileFeatures;
  for (unsigned t = 0; t < tiles; ++t) chess_prepare_for_pipelining {
      aie::store_v(y + t * kTileBytes,
                   aie::max(aie::load_v<kLanes>(x + t * kTileBytes), static_cast<int8>(0)));
    }
}

// Rows of other shards, which only pass by.
template <unsigned tiles>
inline void drop_tiles(input_stream_int8* in) {
  for (unsigned t = 0; t < tiles; ++t) chess_prepare_for_pipelining {
      readincr_v<kTileBytes>(in);
    }
}

// Rows from memory to a stream.
template <unsigned tiles>
inline void write_tiles(const int8* __restrict x, output_stream_int8* out) {
  for (unsigned t = 0; t < tiles; ++t) chess_prepare_for_pipelining {
      writeincr(out, aie::load_v<kTileBytes>(x + t * kTileBytes));
    }
}

// Rows of the shards before this one, from one stream to another.
template <unsigned tiles>
inline void pass_tiles(input_stream_int8* in, output_stream_int8* out) {
  for (unsigned t = 0; t < tiles; ++t) chess_prepare_for_pipelining {
      writeincr(out, readincr_v<kTileBytes>(in));
    }
}

// y[outputs] from the sums that the heads left in the cascade: the end of an output projection.
template <typename Layer, unsigned groups>
inline void read_sums(input_cascade<acc48>* in, int8* __restrict y) {
  constexpr unsigned tiles = groups * Layer::outputs / kTileFeatures;
  for (unsigned t = 0; t < tiles; ++t) chess_prepare_for_pipelining {
      aie::vector<int32, kLanes> sums;
      for (unsigned part = 0; part < 4; ++part) chess_unroll_loop() {
          sums.insert(part, readincr_v<8>(in).template to_vector<int32>(0));
        }
      aie::store_v(y + t * kTileBytes, requantise<Layer>(sums));
    }
}

}  // namespace forge_aie::sharded
