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

#include <type_traits>

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

// What the code of a layer depends on, and what it only reads. Layers of one shape share their code
// where they are built together, as for simulation; alone on a tile all of it is constant.
template <unsigned Rows, unsigned Outputs, bool Relu, bool Transposed, bool HasBias>
struct DenseShape {
  static_assert(Rows % tile_size == 0 && Outputs % tile_size == 0);
  static constexpr unsigned blocks = Rows / tile_size;
  static constexpr unsigned columns = Outputs / tile_size;
  static constexpr bool relu = Relu;
  static constexpr bool transposed = Transposed;
  static constexpr bool has_bias = HasBias;
};

template <typename Config>
using DenseShapeOf =
    DenseShape<Config::rows, Config::outputs, Config::relu, Config::transposed, Config::has_bias>;

struct DenseValues {
  const int8* weights;
  const int32* bias;
  int16 multiplier;
  int shift;
};

template <typename Config>
constexpr DenseValues dense_values() {
  if constexpr (Config::has_bias) {
    return {Config::weights, Config::bias, Config::multiplier, Config::shift};
  } else {
    return {Config::weights, nullptr, Config::multiplier, Config::shift};
  }
}

template <typename Shape, typename Out>
inline void put_sums(Out& out, const TileProduct& c, const DenseValues& p) {
  using Wider = std::conditional_t<Shape::transposed, int16, int8>;
  const auto finish = [&](const HalfSums& sums) {
    return activate<Shape::relu>(requantise<Wider>(sums, p.multiplier, p.shift));
  };
  const auto upper = finish(c.upper.template to_vector<int32>(0));
  const auto lower = finish(c.lower.template to_vector<int32>(0));
  if constexpr (Shape::transposed) {
    put_transposed(out, upper, lower);
  } else {
    out.put(upper);
    out.put(lower);
  }
}

// The bias goes into the accumulators before the first product: nothing is added afterwards.
template <typename Shape>
inline TileProduct bias_of(unsigned column, const int32* bias) {
  if constexpr (Shape::has_bias) {
    const HalfSums row = aie::load_v<half_bytes>(bias + column * half_bytes);
    return {Product(row, 0), Product(row, 0)};
  } else {
    return no_start(column);
  }
}

template <typename Shape, unsigned Depth, typename Rows, typename Out>
void dense_blocks(Rows& rows, Out& out, const DenseValues& p) {
  for_each_block<Shape::blocks>(rows, [&](const int8* block, auto& next) {
    multiply_block<Depth, Shape::columns, Shape::has_bias, Order::by_columns>(
        block, p.weights, next, [&](unsigned column) { return bias_of<Shape>(column, p.bias); },
        [&](unsigned, const TileProduct& c) { put_sums<Shape>(out, c, p); });
  });
}

template <typename Config, typename In, typename Out>
void dense(In& x, Out& y) {
  set_modes();
  constexpr unsigned depth = Config::inputs / tile_size;
  Blocks<In, depth> rows(x);
  Writer<Out> out(y);
  dense_blocks<DenseShapeOf<Config>, depth>(rows, out, dense_values<Config>());
}

// With the inputs from two streams: x has the first columns, x2 the others.
template <typename Config, typename Out>
void dense(input_stream<int8>* x, input_stream<int8>* x2, Out& y) {
  set_modes();
  constexpr unsigned first = Config::inputs / tile_size;
  constexpr unsigned second = Config::second_inputs / tile_size;
  PairedBlocks<first, second> rows(x, x2);
  Writer<Out> out(y);
  dense_blocks<DenseShapeOf<Config>, first + second>(rows, out, dense_values<Config>());
}

}  // namespace forge_aie
