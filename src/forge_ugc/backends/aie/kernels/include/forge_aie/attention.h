// The two products of an attention head, one kernel each.
//
// Keys arrive transposed (the layer that makes them turns each tile once, see dense.h), so that
// their tiles are right operands of the products with queries; values are right operands as they
// are. No kernel here moves an element within a tile.
#pragma once

#include "forge_aie/matmul.h"
#include "forge_aie/requantise.h"
#include "forge_aie/softmax_rows.h"

namespace forge_aie {

enum class Softmax { none, table, polynomial };

// Config of both kernels:
//   rows, keys, depth          multiples of 8: queries of one invocation, keys, width of the head
//   softmax                    what becomes of the scores
// of `scores`:
//   real_keys                  keys that are not padding
//   multiplier, shift          of the scores
//   exp_multiplier, exp_shift  with the polynomial
//   exp_table                  with the table: i8 [256], weights by distance from the maximum
// of `context`:
//   multiplier, shift          of the results; with softmax the multiplier has up to 31 bits, and
//                              is divided by the sum of each row's weights
template <typename Config>
struct HeadTiles {
  static constexpr unsigned depth = Config::depth / tile_size;
  static constexpr unsigned keys = Config::keys / tile_size;
};

// The scores of eight queries, padding set to `padding`, to `out`.
template <typename Config, typename Fetch, typename Out>
inline void put_scores(Out& out, const int8* queries, const int8* keys, Fetch& next, int8 padding) {
  using Tiles = HeadTiles<Config>;
  const auto finish = [&](unsigned column, const TileProduct& c) {
    const auto put_half = [&](const HalfSums& sums) {
      const Half s = requantise(sums, Config::multiplier, Config::shift);
      out.put(pad<Config::real_keys>(s, column, padding));
    };
    put_half(c.upper.template to_vector<int32>(0));
    put_half(c.lower.template to_vector<int32>(0));
  };
  multiply_block<Tiles::depth, Tiles::keys, false, Order::by_columns>(queries, keys, next, no_start,
                                                                      finish);
}

// The weights of eight rows of scores, none for padding, to `out`. With a table, scores become
// weights in place before they go out.
template <typename Config, typename Out>
inline void put_weights(Out& out, int8* scores) {
  constexpr unsigned tiles = HeadTiles<Config>::keys;
  if constexpr (Config::softmax == Softmax::polynomial) {
    const auto maxima = row_maxima<tiles>(scores);
    const auto weights = [&](const int8* half, const Wide& maximum) {
      return exponential<int8, 7>(distances(half, maximum), Config::exp_multiplier,
                                  Config::exp_shift);
    };
    for (unsigned i = 0; i < tiles; ++i) chess_prepare_for_pipelining {
        const int8* tile = scores + i * tile_bytes;
        out.put(pad<Config::real_keys>(weights(tile, maxima.upper), i, int8(0)));
        out.put(pad<Config::real_keys>(weights(tile + half_bytes, maxima.lower), i, int8(0)));
      }
  } else {
    look_up<tiles>(scores, scores, Config::exp_table);
    for (unsigned i = 0; i < tiles; ++i) {
      const int8* tile = scores + i * tile_bytes;
      out.put(pad<Config::real_keys>(aie::load_v<half_bytes>(tile), i, int8(0)));
      out.put(pad<Config::real_keys>(aie::load_v<half_bytes>(tile + half_bytes), i, int8(0)));
    }
  }
}

// s = requantise(q @ k.T), or the weights of each row of s.
template <typename Config, typename Queries, typename Keys, typename Out>
void scores(Queries& q, Keys& k, Out& s) {
  set_modes();
  using Tiles = HeadTiles<Config>;
  const Matrix<Keys, Tiles::depth * Tiles::keys> keys(k);
  Blocks<Queries, Tiles::depth> rows(q);
  Writer<Out> out(s);
  for_each_block<Config::rows / tile_size>(rows, [&](const int8* block, auto& next) {
    if constexpr (Config::softmax == Softmax::none) {
      put_scores<Config>(out, block, keys.data(), next, 0);
    } else {
      alignas(aie::vector_decl_align) int8 memory[Tiles::keys * tile_bytes];
      MemoryWriter local(memory);
      put_scores<Config>(local, block, keys.data(), next, -128);
      put_weights<Config>(out, memory);
    }
  });
}

// The context of eight rows of scores or weights, to `out`.
template <typename Config, typename Fetch, typename Out>
inline void put_context(Out& out, const int8* block, const int8* values, Fetch& next) {
  using Tiles = HeadTiles<Config>;
  const auto multiply = [&](auto&& finish) {
    multiply_block<Tiles::keys, Tiles::depth, false, Order::by_rows>(block, values, next, no_start,
                                                                     finish);
  };
  if constexpr (Config::softmax == Softmax::none) {
    multiply([&](unsigned, const TileProduct& c) {
      out.put(requantise(c.upper.template to_vector<int32>(0), Config::multiplier, Config::shift));
      out.put(requantise(c.lower.template to_vector<int32>(0), Config::multiplier, Config::shift));
    });
  } else {
    const auto factors = row_reciprocals<Tiles::keys>(block, Config::multiplier);
    multiply([&](unsigned, const TileProduct& c) {
      out.put(requantise(c.upper.template to_vector<int32>(0), factors.upper, Config::shift));
      out.put(requantise(c.lower.template to_vector<int32>(0), factors.lower, Config::shift));
    });
  }
}

// y = requantise(s @ v); with softmax the multiplier of each row is divided by its weights' sum.
// Both operands are i8: weights have seven bits.
template <typename Config, typename Scores, typename Values, typename Out>
void context(Scores& s, Values& v, Out& y) {
  set_modes();
  using Tiles = HeadTiles<Config>;
  const Matrix<Values, Tiles::depth * Tiles::keys> values(v);
  Blocks<Scores, Tiles::keys> rows(s);
  Writer<Out> out(y);
  for_each_block<Config::rows / tile_size>(rows, [&](const int8* block, auto& next) {
    put_context<Config>(out, block, values.data(), next);
  });
}

}  // namespace forge_aie
