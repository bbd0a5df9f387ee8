// Blocks of eight rows times a matrix of 8 x 8 tiles: the loop that dense layers and both products
// of attention share.
#pragma once

#include "forge_aie/tile.h"

namespace forge_aie {

using Product = aie::mmul<4, 8, 8, int8, int8>;

// The accumulators of one tile of the result. Two of them take all accumulator registers of AIE1,
// and make the best use of its loads: a step loads 4 x 256 bits (two halves of the left tile, one
// right tile of two) and issues 4 products of 128 multiplications, two loads a cycle.
struct TileProduct {
  Product upper;  // rows 0 to 3
  Product lower;  // rows 4 to 7
};

// How a block's columns share out the fetching of the next block, of `tile_pieces` for each step:
// the first `columns` of them fetch `pieces` in every step. One piece takes a stream four cycles,
// as long as AIE1 takes for a step.
template <unsigned Columns>
struct Fetching {
  static constexpr unsigned pieces = Columns == 1 ? 4 : Columns < 4 ? 2 : 1;
  static constexpr unsigned columns = tile_pieces / pieces;
};

// How the tiles of a right operand lie: [columns][depth], as weights and keys do, or, as values,
// [depth][columns].
enum class Order { by_columns, by_rows };

// c (+)= block times one column of tiles. block: [depth][8][8], column: depth tiles that lie `Step`
// bytes apart. The first product is peeled: without a start it overwrites the accumulators.
template <unsigned DepthTiles, unsigned Step, unsigned Pieces, bool HasStart, typename Fetch>
inline void multiply_column(const int8* block, const int8* column, TileProduct& c, Fetch& next) {
  {
    const auto weights = aie::load_v<tile_bytes>(column);
    if constexpr (HasStart) {
      c.upper.mac(aie::load_v<half_bytes>(block), weights);
      c.lower.mac(aie::load_v<half_bytes>(block + half_bytes), weights);
    } else {
      c.upper.mul(aie::load_v<half_bytes>(block), weights);
      c.lower.mul(aie::load_v<half_bytes>(block + half_bytes), weights);
    }
    next.template fetch<Pieces>();
  }
  for (unsigned k = 1; k < DepthTiles; ++k) chess_prepare_for_pipelining {
      block += tile_bytes;
      column += Step;
      const auto weights = aie::load_v<tile_bytes>(column);
      c.upper.mac(aie::load_v<half_bytes>(block), weights);
      c.lower.mac(aie::load_v<half_bytes>(block + half_bytes), weights);
      next.template fetch<Pieces>();
    }
}

// One block times a whole matrix, a column of tiles after the other.
//   matrix: tiles in the given order, each [8][8]
//   start(column): the TileProduct that a column's sums begin with, if HasStart
//   finish(column, product): takes the sums of a column
template <unsigned DepthTiles, unsigned Columns, bool HasStart, Order Tiles, typename Fetch,
          typename Start, typename Finish>
inline void multiply_block(const int8* block, const int8* matrix, Fetch& next, Start&& start,
                           Finish&& finish) {
  constexpr bool by_columns = Tiles == Order::by_columns;
  constexpr unsigned stride = by_columns ? DepthTiles * tile_bytes : tile_bytes;
  constexpr unsigned step = by_columns ? tile_bytes : Columns * tile_bytes;
  using Share = Fetching<Columns>;
  NoMoreBlocks nothing;
  for (unsigned column = 0; column < Share::columns; ++column) {
    TileProduct c = start(column);
    multiply_column<DepthTiles, step, Share::pieces, HasStart>(block, matrix + column * stride, c,
                                                               next);
    finish(column, c);
  }
  for (unsigned column = Share::columns; column < Columns; ++column) {
    TileProduct c = start(column);
    multiply_column<DepthTiles, step, 0, HasStart>(block, matrix + column * stride, c, nothing);
    finish(column, c);
  }
}

// What a column starts with where the first product overwrites it.
inline TileProduct no_start(unsigned) { return {}; }

}  // namespace forge_aie
