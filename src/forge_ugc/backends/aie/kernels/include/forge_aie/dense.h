// A linear layer: y = relu(requantise(x @ w.T + b)).
//
// Config:
//   rows, inputs, outputs     multiples of 8; rows of one invocation
//   second_inputs             of a layer with two ports, whose inputs lie side by side
//   multiplier, shift, relu   of the requantisation
//   transposed                y leaves as transposed tiles, see below
//   weights                   i8 [outputs / 8][inputs / 8][8 in][8 out]
//   has_bias, bias            i32 [outputs / 8][4][8], the four rows alike; a stub without bias
#pragma once

#include "forge_aie/matmul.h"
#include "forge_aie/requantise.h"

namespace forge_aie {

// Two halves of a tile, row-major, to the same tile column-major. Interleaving the elements of the
// halves moves the highest bit of an element's place to the lowest: three times make of
// (row, column) (column, row). In 16 bits, as AIE1 has no shuffle of single bytes.
template <typename Out>
inline void put_transposed(Out& out, aie::vector<int16, 32> upper, aie::vector<int16, 32> lower) {
  for (unsigned i = 0; i < 3; ++i) {
    const auto [first, second] = aie::interleave_zip(upper, lower, 1);
    upper = first;
    lower = second;
  }
  out.put(narrow(upper));
  out.put(narrow(lower));
}

template <typename Config, typename Out>
inline void put_sums(Out& out, const TileProduct& c) {
  const HalfSums upper = c.upper.template to_vector<int32>(0);
  const HalfSums lower = c.lower.template to_vector<int32>(0);
  if constexpr (Config::transposed) {
    put_transposed(
        out, activate<Config::relu>(requantise<int16>(upper, Config::multiplier, Config::shift)),
        activate<Config::relu>(requantise<int16>(lower, Config::multiplier, Config::shift)));
  } else {
    out.put(activate<Config::relu>(requantise(upper, Config::multiplier, Config::shift)));
    out.put(activate<Config::relu>(requantise(lower, Config::multiplier, Config::shift)));
  }
}

// The bias goes into the accumulators before the first product: nothing is added afterwards.
template <typename Config>
inline TileProduct bias_of(unsigned column) {
  if constexpr (Config::has_bias) {
    const HalfSums bias = aie::load_v<half_bytes>(Config::bias + column * half_bytes);
    return {Product(bias, 0), Product(bias, 0)};
  } else {
    return no_start(column);
  }
}

template <typename Config, unsigned Depth, typename Rows, typename Out>
inline void dense_blocks(Rows& rows, Out& out) {
  static_assert(Config::rows % tile_size == 0 && Config::outputs % tile_size == 0);
  for_each_block<Config::rows / tile_size>(rows, [&](const int8* block, auto& next) {
    multiply_block<Depth, Config::outputs / tile_size, Config::has_bias, Order::by_columns>(
        block, Config::weights, next, bias_of<Config>,
        [&](unsigned, const TileProduct& c) { put_sums<Config>(out, c); });
  });
}

template <typename Config, typename In, typename Out>
void dense(In& x, Out& y) {
  set_modes();
  constexpr unsigned depth = Config::inputs / tile_size;
  Blocks<In, depth> rows(x);
  Writer<Out> out(y);
  dense_blocks<Config, depth>(rows, out);
}

// With the inputs from two streams: x has the first columns, x2 the others.
template <typename Config, typename Out>
void dense(input_stream<int8>* x, input_stream<int8>* x2, Out& y) {
  set_modes();
  constexpr unsigned first = Config::inputs / tile_size;
  constexpr unsigned second = Config::second_inputs / tile_size;
  PairedBlocks<first, second> rows(x, x2);
  Writer<Out> out(y);
  dense_blocks<Config, first + second>(rows, out);
}

}  // namespace forge_aie
