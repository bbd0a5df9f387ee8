// Attention of one head for one shard of rows, with its query and output projections.
//
// Scores are held as keys x queries: a tile has 8 keys x 4 queries, so that the largest score of a
// row and the sum of its weights are found lane by lane, and a tile of weights is the right operand
// of the product with the values as it stands. The division by the sum comes after that product:
// one reciprocal a row, found for all rows of the shard together.
#pragma once

#include "forge_aie/exponential.h"
#include "forge_aie/sharded/tiles.h"

namespace forge_aie::sharded {

// Where tile `m` of the keys (or values) of block `b` lies in the buffers of a head.
template <typename Config>
inline const int8* head_tile(const int8* const (&parts)[Config::parts], unsigned b, unsigned m,
                             bool values) {
  constexpr unsigned blocks = Config::keys / Config::parts / 8;
  constexpr unsigned tiles = Config::Query::outputs / kTileFeatures;
  const int8* part = Config::parts == 1 || b < blocks ? parts[0] : parts[Config::parts - 1];
  const unsigned within = Config::parts == 1 || b < blocks ? b : b - blocks;
  return part + ((within * tiles + m) * 2 + (values ? 1 : 0)) * kWeightBytes;
}

// Scores of 4 queries with every key, and the largest of each query in all lanes of that query.
template <typename Config>
inline aie::vector<int16, kLanes> scores(const int8* const (&parts)[Config::parts],
                                         const int8* __restrict q, int8* __restrict s) {
  constexpr unsigned tiles = Config::Query::outputs / kTileFeatures;
  aie::vector<int16, kLanes> largest = aie::broadcast<int16, kLanes>(-128);
  for (unsigned b = 0; b < Config::keys / 8; ++b) chess_prepare_for_pipelining {
      product sums;
      sums.mul(aie::load_v<kWeightBytes>(head_tile<Config>(parts, b, 0, false)),
               aie::load_v<kTileBytes>(q));
      for (unsigned m = 1; m < tiles; ++m) {
        sums.mac(aie::load_v<kWeightBytes>(head_tile<Config>(parts, b, m, false)),
                 aie::load_v<kTileBytes>(q + m * kTileBytes));
      }
      const auto tile = requantise<typename Config::Scores>(sums.template to_vector<int32>(0));
      aie::store_v(s + b * kTileBytes, tile);
      largest = aie::max(largest, tile.unpack());
    }
  for (unsigned lanes = 16; lanes >= kTileRows; lanes /= 2) chess_unroll_loop() {
      largest = aie::max(largest, aie::shuffle_down_rotate(largest, lanes));
    }
  return largest;
}

// Scores become weights where they lie; the sum of the weights of each query.
template <typename Config>
inline aie::vector<int32, kTileRows> weights(const aie::vector<int16, kLanes>& largest,
                                             int8* __restrict s) {
  aie::accum<acc48, kLanes> total = aie::zeros<acc48, kLanes>();
  for (unsigned b = 0; b < Config::keys / 8; ++b) chess_prepare_for_pipelining {
      const auto distance = aie::sub(largest, aie::load_v<kLanes>(s + b * kTileBytes).unpack());
      const auto weight = exponential<int8, 7>(
          distance, static_cast<int16>(Config::Softmax::multiplier), Config::Softmax::shift);
      total = aie::mac(total, weight.unpack(), static_cast<int16>(1));
      aie::store_v(s + b * kTileBytes, weight);
    }
  const aie::vector<int32, kLanes> sums = total.template to_vector<int32>(0);
  aie::vector<int32, 16> sum = aie::add(sums.template extract<16>(0), sums.template extract<16>(1));
  sum = aie::add(sum, aie::shuffle_down_rotate(sum, 8));
  sum = aie::add(sum, aie::shuffle_down_rotate(sum, 4));
  return sum.template extract<kTileRows>(0);
}

// Weighted values of 4 queries: a tile of 8 features x 4 queries for every 8 features.
template <typename Config>
inline void context(const int8* const (&parts)[Config::parts], const int8* __restrict w,
                    const aie::vector<int32, kLanes>& reciprocal, int8* __restrict out) {
  constexpr unsigned tiles = Config::Query::outputs / kTileFeatures;
  for (unsigned m = 0; m < tiles; ++m) {
    product sums;
    sums.mul(aie::load_v<kWeightBytes>(head_tile<Config>(parts, 0, m, true)),
             aie::load_v<kTileBytes>(w));
    for (unsigned b = 1; b < Config::keys / 8; ++b) chess_prepare_for_pipelining {
        sums.mac(aie::load_v<kWeightBytes>(head_tile<Config>(parts, b, m, true)),
                 aie::load_v<kTileBytes>(w + b * kTileBytes));
      }
    const aie::vector<int32, kLanes> mean = sums.template to_vector<int32>(0);
    aie::vector<int8, kLanes> tile;
    if constexpr (Config::softmax) {
      tile = forge_aie::requantise(mean, reciprocal, Config::Context::shift);
    } else {
      tile = requantise<typename Config::Context>(mean);
    }
    aie::store_v(out + m * kTileBytes, tile);
  }
}

// This head's part of the output projection of 4 rows, added to what the heads before left.
// Layer: weights int8[outputs / 8][size of a head / 8][8 x 8].
template <typename Config, typename Take>
inline void project(const int8* __restrict x, Take take, output_cascade<acc48>* out) {
  using Layer = typename Config::Output;
  constexpr unsigned depth = Layer::inputs / kTileFeatures;
  for (unsigned m = 0; m < Layer::outputs / kTileFeatures; ++m) chess_prepare_for_pipelining {
      product sums(take(m));
      for (unsigned k = 0; k < depth; ++k) {
        sums.mac(aie::load_v<kWeightBytes>(Layer::weights + (m * depth + k) * kWeightBytes),
                 aie::load_v<kTileBytes>(x + k * kTileBytes));
      }
      const auto total = sums.to_accum();
      for (unsigned part = 0; part < 4; ++part) chess_unroll_loop() {
          writeincr(out, total.template extract<8>(part));
        }
    }
}

// Config: Query, Scores, Softmax, Context, Output; rows (a multiple of 4, at most 64), keys (a
// multiple of 8), parts (1 or 2 buffers of keys and values), softmax.
// take(m): what the sums of outputs m * 8 to m * 8 + 7 start from: the bias, or the cascade.
template <typename Config, typename Take>
inline void attend(const int8* const (&parts)[Config::parts], input_stream_int8* rows, Take take,
                   output_cascade<acc48>* out) {
  constexpr unsigned groups = Config::rows / kTileRows;
  constexpr unsigned row_tiles = Config::Query::inputs / kTileFeatures;
  constexpr unsigned head_tiles = Config::Query::outputs / kTileFeatures;
  alignas(32) int8 x[row_tiles * kTileBytes];
  alignas(32) int8 q[head_tiles * kTileBytes];
  alignas(32) int8 s[groups][Config::keys / 8 * kTileBytes];
  alignas(32) int32 divisor[(groups * kTileRows + 15) / 16 * 16];
  // Of the last sixteen some may have no row; they divide by this.
  aie::store_v(divisor + sizeof(divisor) / sizeof(int32) - 16, aie::broadcast<int32, 16>(1 << 29));
  for (unsigned g = 0; g < groups; ++g) {
    read_tiles<row_tiles>(rows, x);
    dense<typename Config::Query, 1>(x, q);
    const auto largest = scores<Config>(parts, q, s[g]);
    if constexpr (Config::softmax) {
      aie::store_v(divisor + g * kTileRows, weights<Config>(largest, s[g]));
    }
  }
  if constexpr (Config::softmax) {
    for (unsigned r = 0; r < groups * kTileRows; r += 16) {
      aie::store_v(divisor + r, floor_divide<24>(static_cast<int32>(Config::Context::numerator),
                                                 aie::load_v<16>(divisor + r)));
    }
  }
  for (unsigned g = 0; g < groups; ++g) {
    aie::vector<int32, kLanes> reciprocal = aie::zeros<int32, kLanes>();
    if constexpr (Config::softmax) {
      const aie::vector<int32, 4> four = aie::load_v<4>(divisor + g * kTileRows);
      for (unsigned part = 0; part < 8; ++part) chess_unroll_loop() {
          reciprocal.insert(part, four);
        }
    }
    context<Config>(parts, s[g], reciprocal, q);
    project<Config>(q, take, out);
  }
}

// The first head starts its sums with the bias of the output projection: int32[outputs / 8][32],
// every value four times.
template <typename Config>
inline auto from_bias() {
  return [](unsigned m) {
    if constexpr (Config::Output::has_bias) {
      aie::accum<acc48, kLanes> sums;
      sums.from_vector(aie::load_v<kLanes>(Config::Output::bias + m * kLanes));
      return sums;
    } else {
      return aie::zeros<acc48, kLanes>();
    }
  };
}

// Every other head starts with what the one before it left.
inline auto from_cascade(input_cascade<acc48>* in) {
  return [in](unsigned) {
    aie::accum<acc48, kLanes> sums;
    for (unsigned part = 0; part < 4; ++part) chess_unroll_loop() {
        sums.insert(part, readincr_v<8>(in));
      }
    return sums;
  };
}

}  // namespace forge_aie::sharded
