// Softmax over the columns of a matrix: q = min(round(e * r / 2**k), 2**bits - 1).
//
// Config:
//   rows, columns, real_columns  rows and columns multiples of 8; the last columns may be padding
//   softmax                      how e is found: Softmax::table or Softmax::polynomial
//   exp_multiplier, exp_shift    with the polynomial
//   exp_table                    i16 [256], with the table
//   bits                         of the result: 7, or 8 for u8 in the bytes of the port
#pragma once

#include "forge_aie/attention.h"

namespace forge_aie {

// Scores of a block with padding, which never has the maximum, for a copy of the block.
template <typename Config>
inline void copy_padded(const int8* block, int8* copy) {
  for (unsigned i = 0; i < Config::columns / tile_size; ++i) chess_prepare_for_pipelining {
      for (unsigned half = i * tile_bytes; half < (i + 1) * tile_bytes; half += half_bytes) {
        const Half scores = aie::load_v<half_bytes>(block + half);
        aie::store_v(copy + half, pad<Config::real_columns>(scores, i, int8(-128)));
      }
    }
}

// Exponentials of a block of scores: i16 [columns / 8][8][8].
template <typename Config>
inline void exponentials_of_scores(const int8* block, int16* e) {
  constexpr unsigned tiles = Config::columns / tile_size;
  if constexpr (Config::softmax == Softmax::polynomial) {
    const auto maxima = row_maxima<tiles>(block);
    const Exponential<int16, 0> exponential(Config::exp_multiplier, Config::exp_shift);
    const auto store = [&](unsigned half, const Wide& maximum) {
      aie::store_v(e + half, exponential(distances(block + half, maximum)));
    };
    for (unsigned i = 0; i < tiles; ++i) chess_prepare_for_pipelining {
        store(i * tile_bytes, maxima.upper);
        store(i * tile_bytes + half_bytes, maxima.lower);
      }
  } else {
    look_up<tiles>(block, e, Config::exp_table);
  }
}

// The same, none for padding.
template <typename Config>
inline void exponentials(const int8* block, int16* e) {
  if constexpr (Config::real_columns == Config::columns) {
    exponentials_of_scores<Config>(block, e);
  } else {
    alignas(aie::vector_decl_align) int8 copy[Config::columns * tile_size];
    copy_padded<Config>(block, copy);
    exponentials_of_scores<Config>(copy, e);
    constexpr unsigned last = Config::real_columns / tile_size;
    for (unsigned half = 0; half < tile_bytes; half += half_bytes) {
      int16* lanes = e + last * tile_bytes + half;
      aie::store_v(lanes,
                   pad<Config::real_columns>(Wide(aie::load_v<half_bytes>(lanes)), last, int16(0)));
    }
  }
}

// Sums of four rows of exponentials: in all lanes of each row.
template <unsigned Tiles>
inline HalfSums exponential_sums(const int16* half) {
  aie::accum<acc32, half_bytes> lanes = aie::mul(aie::load_v<half_bytes>(half), int16(1));
  for (unsigned i = 1; i < Tiles; ++i) chess_prepare_for_pipelining {
      lanes = aie::mac(lanes, aie::load_v<half_bytes>(half + i * tile_bytes), int16(1));
    }
  const HalfSums sums = lanes.template to_vector<int32>(0);
  const auto row = [&](unsigned number) {
    return aie::broadcast<int32, tile_size>(
        aie::reduce_add(sums.template extract<tile_size>(number)));
  };
  return aie::concat(row(0), row(1), row(2), row(3));
}

// Row reciprocals ((2**bits - 1) * 2**k) / sum, rounded down: below 2**15, as a sum is 16256 or
// more.
template <typename Config>
inline Wide reciprocals(const HalfSums& sums) {
  constexpr int32 numerator = Config::bits == 7 ? 127 << 21 : 255 << 20;
  aie::accum<acc48, half_bytes> wide;
  wide.from_vector(floor_divide<15>(numerator, sums), 0);
  return wide.template to_vector<int16>(0);
}

template <typename Config>
inline Half probabilities(const int16* e, const Wide& reciprocal) {
  const auto product = aie::mul(aie::load_v<half_bytes>(e), reciprocal);
  if constexpr (Config::bits == 7) {
    return product.template to_vector<int8>(21);
  } else {
    return product.template to_vector<uint8>(20).template cast_to<int8>();
  }
}

template <typename Config, typename In, typename Out>
void softmax(In& x, Out& y) {
  set_modes();
  constexpr unsigned tiles = Config::columns / tile_size;
  Blocks<In, tiles> rows(x);
  Writer<Out> out(y);
  for_each_block<Config::rows / tile_size>(rows, [&](const int8* block, auto& next) {
    alignas(aie::vector_decl_align) int16 e[tiles * tile_bytes];
    exponentials<Config>(block, e);
    const Wide upper = reciprocals<Config>(exponential_sums<tiles>(e));
    const Wide lower = reciprocals<Config>(exponential_sums<tiles>(e + half_bytes));
    for (unsigned i = 0; i < tiles; ++i) chess_prepare_for_pipelining {
        next.template fetch<tile_pieces>();
        out.put(probabilities<Config>(e + i * tile_bytes, upper));
        out.put(probabilities<Config>(e + i * tile_bytes + half_bytes, lower));
      }
  });
}

}  // namespace forge_aie
