// Activations of the sharded mapping: transposed, in tiles that one product leaves and the next one
// takes.
//
// A matrix of `rows` x `features` is held as tiles of 8 features x 4 rows, each row-major (32
// bytes): for every group of 4 rows, for every 8 features. A weight matrix of outputs x inputs is
// held as tiles of 8 x 8: for every 8 outputs, for every 8 inputs. Then
//
//     tile of y (8 x 4) = sum over k of tile of w (8 x 8) * tile of x (8 x 4)
//
// is aie::mmul<8, 8, 4>, a native shape of int8, and its result has the very layout of its right
// operand: no kernel of this mapping moves bytes between a layer and the next.
#pragma once

#include "forge_aie/requantise.h"
#include "forge_aie/tile.h"

namespace forge_aie::sharded {

using product = aie::mmul<8, 8, 4, int8, int8>;

inline constexpr unsigned kTileBytes = 32;    // of activations
inline constexpr unsigned kWeightBytes = 64;  // of a tile of weights
inline constexpr unsigned kLanes = 32;
inline constexpr unsigned kTileRows = 4;
inline constexpr unsigned kTileFeatures = 8;

// clip(round_half_even(sums * multiplier / 2^shift)), and ReLU after the clip.
template <typename Layer>
inline aie::vector<int8, kLanes> requantise(const aie::vector<int32, kLanes>& sums) {
  return activate<Layer::relu>(
      forge_aie::requantise(sums, static_cast<int16>(Layer::multiplier), Layer::shift));
}

// Sums of tile `m` of outputs over `depth` tiles of inputs, starting with the bias.
// Layer: weights as above; bias int32[outputs / 8][32], every value four times, or has_bias =
// false.
template <typename Layer>
inline product tile_sums(unsigned m, const int8* x) {
  constexpr unsigned depth = Layer::inputs / kTileFeatures;
  const int8* w = Layer::weights + m * depth * kWeightBytes;
  product sums = [&] {
    if constexpr (Layer::has_bias) {
      product from_bias(aie::load_v<kLanes>(Layer::bias + m * kLanes));
      from_bias.mac(aie::load_v<kWeightBytes>(w), aie::load_v<kTileBytes>(x));
      return from_bias;
    } else {
      product first;
      first.mul(aie::load_v<kWeightBytes>(w), aie::load_v<kTileBytes>(x));
      return first;
    }
  }();
  for (unsigned k = 1; k < depth; ++k) {
    sums.mac(aie::load_v<kWeightBytes>(w + k * kWeightBytes),
             aie::load_v<kTileBytes>(x + k * kTileBytes));
  }
  return sums;
}

// y[outputs] = requantise(w * x[inputs] + bias) for `groups` groups of 4 rows.
template <typename Layer, unsigned groups>
inline void dense(const int8* __restrict x, int8* __restrict y) {
  constexpr unsigned inputs = Layer::inputs / kTileFeatures;
  constexpr unsigned outputs = Layer::outputs / kTileFeatures;
  for (unsigned g = 0; g < groups; ++g) {
    for (unsigned m = 0; m < outputs; ++m) chess_prepare_for_pipelining {
        const product sums = tile_sums<Layer>(m, x + g * inputs * kTileBytes);
        aie::store_v(y + (g * outputs + m) * kTileBytes,
                     requantise<Layer>(sums.template to_vector<int32>(0)));
      }
  }
}

// y = clip(round_half_even((a * multiplier_a + b * multiplier_b) / 2^shift)), ReLU after the clip.
template <typename Layer, unsigned groups>
inline void add(const int8* __restrict a, const int8* __restrict b, int8* __restrict y) {
  constexpr unsigned tiles = groups * Layer::features / kTileFeatures;
  for (unsigned t = 0; t < tiles; ++t) chess_prepare_for_pipelining {
      auto sum = aie::mul(aie::load_v<kLanes>(a + t * kTileBytes).unpack(),
                          static_cast<int16>(Layer::multiplier_a));
      sum = aie::mac(sum, aie::load_v<kLanes>(b + t * kTileBytes).unpack(),
                     static_cast<int16>(Layer::multiplier_b));
      aie::vector<int8, kLanes> out = sum.template to_vector<int8>(Layer::shift);
      if constexpr (Layer::relu) {
        out = aie::max(out, static_cast<int8>(0));
      }
      aie::store_v(y + t * kTileBytes, out);
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

// Rows from a stream into memory.
template <unsigned tiles>
inline void read_tiles(input_stream_int8* in, int8* __restrict out) {
  for (unsigned t = 0; t < tiles; ++t) chess_prepare_for_pipelining {
      aie::store_v(out + t * kTileBytes, readincr_v<kTileBytes>(in));
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
