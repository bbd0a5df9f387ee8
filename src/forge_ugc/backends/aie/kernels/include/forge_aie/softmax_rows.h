// What softmax needs of whole rows: maxima, weights and sums of a block of eight rows in memory.
#pragma once

#include "forge_aie/exponential.h"
#include "forge_aie/matmul.h"

namespace forge_aie {

// A number for each row of a half tile, in all eight lanes of its row.
template <typename T>
struct RowValues {
  aie::vector<T, half_bytes> upper;
  aie::vector<T, half_bytes> lower;
};

// Half of a tile with `value` in place of padding: the lanes past `Real` columns of a matrix whose
// last tile is number Real / 8.
template <unsigned Real, typename T>
inline aie::vector<T, half_bytes> pad(const aie::vector<T, half_bytes>& half, unsigned tile,
                                      T value) {
  if constexpr (Real % tile_size != 0) {
    if (tile == Real / tile_size) {
      constexpr unsigned row = (1u << Real % tile_size) - 1;
      const auto is_real = aie::mask<half_bytes>::from_uint32(row * 0x01010101u);
      return aie::select(aie::broadcast<T, half_bytes>(value), half, is_real);
    }
  }
  return half;
}

// The lanes of each row of a half replaced by their maximum.
inline Wide row_maximum(const Wide& half) {
  const auto maximum = [&](unsigned row) {
    return aie::broadcast<int16, tile_size>(aie::reduce_max(half.template extract<tile_size>(row)));
  };
  return aie::concat(maximum(0), maximum(1), maximum(2), maximum(3));
}

// Maxima of the rows of a block: [Tiles][8][8].
template <unsigned Tiles>
inline RowValues<int16> row_maxima(const int8* block) {
  auto best = aie::load_v<tile_bytes>(block);
  for (unsigned i = 1; i < Tiles; ++i) chess_prepare_for_pipelining {
      best = aie::max(best, aie::load_v<tile_bytes>(block + i * tile_bytes));
    }
  return {row_maximum(best.template extract<half_bytes>(0).unpack()),
          row_maximum(best.template extract<half_bytes>(1).unpack())};
}

// Sums of the rows of a block of weights, by a product with ones: the fastest adder of the tile.
// Row r's sum stands in lanes 4 r to 4 r + 3.
template <unsigned Tiles>
inline aie::vector<int32, 32> row_sums(const int8* block) {
  using Sum = aie::mmul<4, 8, 4, int8, int8>;
  const auto ones = aie::broadcast<int8, 32>(1);
  Sum upper, lower;
  upper.mul(aie::load_v<half_bytes>(block), ones);
  lower.mul(aie::load_v<half_bytes>(block + half_bytes), ones);
  for (unsigned i = 1; i < Tiles; ++i) chess_prepare_for_pipelining {
      upper.mac(aie::load_v<half_bytes>(block + i * tile_bytes), ones);
      lower.mac(aie::load_v<half_bytes>(block + i * tile_bytes + half_bytes), ones);
    }
  return aie::concat(upper.template to_vector<int32>(0), lower.template to_vector<int32>(0));
}

// numerator / sum of each row of a block of weights, rounded down. Weights of a row add up to 127
// or more, as that of its maximum is 127: quotients have at most 25 bits.
template <unsigned Tiles>
inline RowValues<int32> row_reciprocals(const int8* block, int32 numerator) {
  const auto sums = row_sums<Tiles>(block);
  // Each sum is there four times; two will do, and halve the work.
  const aie::vector<int32, 16> each_twice = aie::filter_even(sums, 1);
  const auto quotients = floor_divide<25>(numerator, each_twice);
  // Two lanes a row to eight: doubled twice.
  const auto [upper, lower] = aie::interleave_zip(quotients, quotients, 1);
  const auto [rows01, rows23] = aie::interleave_zip(upper, upper, 1);
  const auto [rows45, rows67] = aie::interleave_zip(lower, lower, 1);
  return {aie::concat(rows01, rows23), aie::concat(rows45, rows67)};
}

// Distances of four rows from their maxima.
inline Wide distances(const int8* half, const Wide& maxima) {
  return aie::sub(maxima, aie::load_v<half_bytes>(half).unpack());
}

// table[maximum of the row - score] for a block of scores; results may be the scores themselves.
// Scalar code: the oracle of the polynomial.
template <unsigned Tiles, typename Value>
inline void look_up(const int8* scores, Value* results, const Value* table) {
  for (unsigned row = 0; row < tile_size; ++row) {
    int maximum = -128;
    for (unsigned i = 0; i < Tiles; ++i) {
      const int8* lanes = scores + i * tile_bytes + row * tile_size;
      for (unsigned lane = 0; lane < tile_size; ++lane) {
        maximum = lanes[lane] > maximum ? lanes[lane] : maximum;
      }
    }
    for (unsigned i = 0; i < Tiles; ++i) {
      const unsigned first = i * tile_bytes + row * tile_size;
      for (unsigned lane = first; lane < first + tile_size; ++lane) {
        results[lane] = table[maximum - scores[lane]];
      }
    }
  }
}

}  // namespace forge_aie
