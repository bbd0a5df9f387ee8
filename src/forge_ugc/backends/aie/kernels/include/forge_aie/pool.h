// Mean or maximum over the rows of a matrix. The result is one row, written eight times, so that
// the layers after it read a block as everywhere else.
//
// Config:
//   rows, real_rows, columns  rows and columns multiples of 8; rows past real_rows are padding
//   maximum                   or else the mean, whose 1 / real_rows is part of the multiplier
//   multiplier, shift, relu   of the requantisation
#pragma once

#include "forge_aie/matmul.h"
#include "forge_aie/requantise.h"

namespace forge_aie {

// Numbers of rows of a block that are not padding.
template <typename Config>
constexpr unsigned real_rows_of(unsigned block) {
  const unsigned left = Config::real_rows - block * tile_size;
  return left < tile_size ? left : tile_size;
}

// Every row of `half` replaced by the maximum of the rows: 4 x 8.
inline Half maximum_of_rows(const Half& half) {
  const auto wide = half.unpack();
  const auto maximum =
      aie::max(aie::max(wide.template extract<tile_size>(0), wide.template extract<tile_size>(1)),
               aie::max(wide.template extract<tile_size>(2), wide.template extract<tile_size>(3)));
  const aie::vector<int16, half_bytes> rows = aie::concat(maximum, maximum, maximum, maximum);
  aie::accum<acc32, half_bytes> sums;
  sums.from_vector(rows, 0);
  return sums.template to_vector<int8>(0);
}

// Sums by column are a product with ones from the left, zero for padding: 4 equal rows.
inline Half ones(unsigned rows) {
  const auto is_row = aie::mask<half_bytes>::from_uint32(((1u << rows) - 1) * 0x01010101u);
  return aie::select(aie::broadcast<int8, half_bytes>(0), aie::broadcast<int8, half_bytes>(1),
                     is_row);
}

// Adds a tile's columns to the sums: i32 [4][8], the four rows alike.
inline void accumulate(int32* sums, const int8* tile, const Half& left) {
  Product c(aie::load_v<half_bytes>(sums), 0);
  c.mac(left, aie::load_v<tile_bytes>(tile));
  aie::store_v(sums, c.template to_vector<int32>(0));
}

// The greater of a running maximum, i8 [8][8], and a tile of `rows` rows, which is 1 to 8.
inline void keep_greater(int8* best, const int8* tile, unsigned rows) {
  const auto low = aie::broadcast<int8, half_bytes>(-128);
  const auto keep = [&](unsigned half, unsigned real) {
    const auto is_real =
        aie::mask<half_bytes>::from_uint32(real == 4 ? 0xffffffffu : (1u << real * 8) - 1);
    const Half values = aie::load_v<half_bytes>(tile + half * half_bytes);
    int8* kept = best + half * half_bytes;
    aie::store_v(kept, aie::max(aie::load_v<half_bytes>(kept), aie::select(low, values, is_real)));
  };
  keep(0, rows < 4 ? rows : 4);
  keep(1, rows < 4 ? 0 : rows - 4);
}

template <typename Config, typename Out>
inline void put_pooled(Out& out, const HalfSums& sums) {
  const Half y = activate<Config::relu>(requantise(sums, Config::multiplier, Config::shift));
  out.put(y);
  out.put(y);
}

template <typename Config, typename Rows, typename Out>
inline void pool_maximum(Rows& rows, Out& out) {
  constexpr unsigned columns = Config::columns / tile_size;
  alignas(aie::vector_decl_align) int8 best[columns * tile_bytes];
  for (unsigned i = 0; i < columns; ++i) {
    aie::store_v(best + i * tile_bytes, aie::broadcast<int8, tile_bytes>(-128));
  }
  unsigned block = 0;
  for_each_block<Config::rows / tile_size>(rows, [&](const int8* tiles, auto& next) {
    const unsigned real = real_rows_of<Config>(block++);
    for (unsigned i = 0; i < columns; ++i) chess_prepare_for_pipelining {
        keep_greater(best + i * tile_bytes, tiles + i * tile_bytes, real);
        next.template fetch<tile_pieces>();
      }
  });
  for (unsigned i = 0; i < columns; ++i) {
    const int8* tile = best + i * tile_bytes;
    const Half row = maximum_of_rows(
        aie::max(aie::load_v<half_bytes>(tile), aie::load_v<half_bytes>(tile + half_bytes)));
    aie::accum<acc32, half_bytes> wide;
    wide.from_vector(row.unpack(), 0);
    put_pooled<Config>(out, wide.template to_vector<int32>(0));
  }
}

template <typename Config, typename Rows, typename Out>
inline void pool_mean(Rows& rows, Out& out) {
  constexpr unsigned columns = Config::columns / tile_size;
  alignas(aie::vector_decl_align) int32 sums[columns * half_bytes];
  for (unsigned i = 0; i < columns; ++i) {
    aie::store_v(sums + i * half_bytes, aie::broadcast<int32, half_bytes>(0));
  }
  unsigned block = 0;
  for_each_block<Config::rows / tile_size>(rows, [&](const int8* tiles, auto& next) {
    const Half left = ones(real_rows_of<Config>(block++));
    for (unsigned i = 0; i < columns; ++i) chess_prepare_for_pipelining {
        accumulate(sums + i * half_bytes, tiles + i * tile_bytes, left);
        next.template fetch<tile_pieces>();
      }
  });
  for (unsigned i = 0; i < columns; ++i) {
    put_pooled<Config>(out, aie::load_v<half_bytes>(sums + i * half_bytes));
  }
}

template <typename Config, typename In, typename Out>
void pool(In& x, Out& y) {
  set_modes();
  static_assert(Config::rows - Config::real_rows < tile_size, "padding of less than a block");
  Blocks<In, Config::columns / tile_size> rows(x);
  Writer<Out> out(y);
  if constexpr (Config::maximum) {
    pool_maximum<Config>(rows, out);
  } else {
    pool_mean<Config>(rows, out);
  }
}

}  // namespace forge_aie
