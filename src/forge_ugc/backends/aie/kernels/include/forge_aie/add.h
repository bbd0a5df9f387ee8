// Residual sum of two tensors of different scales, rounded once.
//
// Config: elements, multiplier_a, multiplier_b, shift, relu
#pragma once

#include "forge_aie/requantise.h"

namespace forge_aie {

template <typename Config>
inline Half scaled_sum(const Half& a, const Half& b) {
  // 16 x 16 bit products: int8 x int16 has no vector instruction of its own on AIE1.
  aie::accum<acc32, half_bytes> sum = aie::mul(a.unpack(), Config::multiplier_a);
  sum = aie::mac(sum, b.unpack(), Config::multiplier_b);
  return activate<Config::relu>(sum.template to_vector<int8>(Config::shift));
}

// y = relu(clip(round((a * multiplier_a + b * multiplier_b) / 2**shift)))
template <typename Config, typename In, typename Out>
void add(In& a, In& b, Out& y) {
  set_modes();
  Blocks<In, 1> left(a), right(b);
  Writer<Out> out(y);
  const auto put_tile = [&](auto& next_left, auto& next_right) {
    const int8* one = left.current();
    const int8* other = right.current();
    next_left.template fetch<tile_pieces>();
    next_right.template fetch<tile_pieces>();
    out.put(scaled_sum<Config>(aie::load_v<half_bytes>(one), aie::load_v<half_bytes>(other)));
    out.put(scaled_sum<Config>(aie::load_v<half_bytes>(one + half_bytes),
                               aie::load_v<half_bytes>(other + half_bytes)));
  };
  static_assert(Config::elements % tile_bytes == 0);
  for (unsigned i = 1; i < Config::elements / tile_bytes; ++i) chess_prepare_for_pipelining {
      put_tile(left, right);
      left.advance();
      right.advance();
    }
  NoMoreBlocks nothing;
  put_tile(nothing, nothing);
}

}  // namespace forge_aie
