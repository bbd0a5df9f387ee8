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
//
// As for dense layers, heads of one shape share their code where they are built together.
template <unsigned Rows, unsigned Keys, unsigned RealKeys, unsigned Depth, Softmax Kind>
struct HeadShape {
  static constexpr unsigned blocks = Rows / tile_size;
  static constexpr unsigned keys = Keys / tile_size;
  static constexpr unsigned real_keys = RealKeys;
  static constexpr unsigned depth = Depth / tile_size;
  static constexpr Softmax softmax = Kind;
};

struct HeadValues {
  int32 multiplier;
  int shift;
  int16 exp_multiplier = 1;
  int exp_shift = 0;
  const int8* exp_table = nullptr;
};

template <typename Config>
constexpr HeadValues head_values() {
  HeadValues values{Config::multiplier, Config::shift};
  if constexpr (Config::softmax == Softmax::polynomial) {
    values.exp_multiplier = Config::exp_multiplier;
    values.exp_shift = Config::exp_shift;
  } else if constexpr (Config::softmax == Softmax::table) {
    values.exp_table = Config::exp_table;
  }
  return values;
}

// The scores of eight queries, padding set to `padding`, to `out`.
template <typename Head, typename Fetch, typename Out>
inline void put_scores(Out& out, const int8* queries, const int8* keys, Fetch& next,
                       const HeadValues& p, int8 padding) {
  const auto finish = [&](unsigned column, const TileProduct& c) {
    const auto put_half = [&](const HalfSums& sums) {
      const Half s = requantise(sums, static_cast<int16>(p.multiplier), p.shift);
      out.put(pad<Head::real_keys>(s, column, padding));
    };
    put_half(c.upper.template to_vector<int32>(0));
    put_half(c.lower.template to_vector<int32>(0));
  };
  multiply_block<Head::depth, Head::keys, false, Order::by_columns>(queries, keys, next, no_start,
                                                                    finish);
}

// The weights of eight rows of scores, none for padding, to `out`. With a table, scores become
// weights in place before they go out.
template <typename Head, typename Out>
inline void put_weights(Out& out, int8* scores, const HeadValues& p) {
  if constexpr (Head::softmax == Softmax::polynomial) {
    const auto maxima = row_maxima<Head::keys>(scores);
    const Exponential<int8, 7> exponential(p.exp_multiplier, p.exp_shift);
    const auto weights = [&](const int8* half, const Wide& maximum) {
      return exponential(distances(half, maximum));
    };
    for (unsigned i = 0; i < Head::keys; ++i) chess_prepare_for_pipelining {
        const int8* tile = scores + i * tile_bytes;
        out.put(pad<Head::real_keys>(weights(tile, maxima.upper), i, int8(0)));
        out.put(pad<Head::real_keys>(weights(tile + half_bytes, maxima.lower), i, int8(0)));
      }
  } else {
    look_up<Head::keys>(scores, scores, p.exp_table);
    for (unsigned i = 0; i < Head::keys; ++i) {
      const int8* tile = scores + i * tile_bytes;
      out.put(pad<Head::real_keys>(Half(aie::load_v<half_bytes>(tile)), i, int8(0)));
      out.put(pad<Head::real_keys>(Half(aie::load_v<half_bytes>(tile + half_bytes)), i, int8(0)));
    }
  }
}

template <typename Head, typename Rows, typename Out>
void score_blocks(Rows& rows, const int8* keys, Out& out, const HeadValues& p) {
  for_each_block<Head::blocks>(rows, [&](const int8* block, auto& next) {
    if constexpr (Head::softmax == Softmax::none) {
      put_scores<Head>(out, block, keys, next, p, 0);
    } else {
      alignas(aie::vector_decl_align) int8 memory[Head::keys * tile_bytes];
      MemoryWriter local(memory);
      put_scores<Head>(local, block, keys, next, p, -128);
      put_weights<Head>(out, memory, p);
    }
  });
}

// s = requantise(q @ k.T), or the weights of each row of s.
template <typename Config, typename Queries, typename Keys, typename Out>
void scores(Queries& q, Keys& k, Out& s) {
  set_modes();
  using Head =
      HeadShape<Config::rows, Config::keys, Config::real_keys, Config::depth, Config::softmax>;
  const Matrix<Keys, Head::depth * Head::keys> keys(k);
  Blocks<Queries, Head::depth> rows(q);
  Writer<Out> out(s);
  score_blocks<Head>(rows, keys.data(), out, head_values<Config>());
}

// The context of eight rows of scores or weights, to `out`.
template <typename Head, typename Fetch, typename Out>
inline void put_context(Out& out, const int8* block, const int8* values, Fetch& next,
                        const HeadValues& p) {
  const auto multiply = [&](auto&& finish) {
    multiply_block<Head::keys, Head::depth, false, Order::by_rows>(block, values, next, no_start,
                                                                   finish);
  };
  if constexpr (Head::softmax == Softmax::none) {
    const int16 multiplier = static_cast<int16>(p.multiplier);
    multiply([&](unsigned, const TileProduct& c) {
      out.put(requantise(c.upper.template to_vector<int32>(0), multiplier, p.shift));
      out.put(requantise(c.lower.template to_vector<int32>(0), multiplier, p.shift));
    });
  } else {
    const auto factors = row_reciprocals<Head::keys>(block, p.multiplier);
    multiply([&](unsigned, const TileProduct& c) {
      out.put(requantise(c.upper.template to_vector<int32>(0), factors.upper, p.shift));
      out.put(requantise(c.lower.template to_vector<int32>(0), factors.lower, p.shift));
    });
  }
}

template <typename Head, typename Rows, typename Out>
void context_blocks(Rows& rows, const int8* values, Out& out, const HeadValues& p) {
  for_each_block<Head::blocks>(
      rows, [&](const int8* block, auto& next) { put_context<Head>(out, block, values, next, p); });
}

// y = requantise(s @ v); with softmax the multiplier of each row is divided by its weights' sum.
// Both operands are i8: weights have seven bits.
template <typename Config, typename Scores, typename Values, typename Out>
void context(Scores& s, Values& v, Out& y) {
  set_modes();
  using Head = HeadShape<Config::rows, Config::keys, Config::keys, Config::depth, Config::softmax>;
  const Matrix<Values, Head::depth * Head::keys> values(v);
  Blocks<Scores, Head::keys> rows(s);
  Writer<Out> out(y);
  context_blocks<Head>(rows, values.data(), out, {Config::multiplier, Config::shift});
}

}  // namespace forge_aie
