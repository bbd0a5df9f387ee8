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

// Rows from a stream into memory.
template <unsigned tiles>
inline void read_tiles(input_stream_int8* in, int8* __restrict out) {
  for (unsigned t = 0; t < tiles; ++t) chess_prepare_for_pipelining {
      aie::store_v(out + t * kTileBytes, readincr_v<kTileBytes>(in));
    }
}

}  // namespace forge_aie::sharded
