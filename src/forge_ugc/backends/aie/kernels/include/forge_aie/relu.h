// max(x, 0), where it cannot be part of the layer before.
//
// Config: elements
#pragma once

#include "forge_aie/requantise.h"

namespace forge_aie {

template <typename Config, typename In, typename Out>
void relu(In& x, Out& y) {
  set_modes();
  Blocks<In, 1> tiles(x);
  Writer<Out> out(y);
  for_each_block<Config::elements / tile_bytes>(tiles, [&](const int8* tile, auto& next) {
    next.template fetch<tile_pieces>();
    out.put(activate<true>(aie::load_v<half_bytes>(tile)));
    out.put(activate<true>(aie::load_v<half_bytes>(tile + half_bytes)));
  });
}

}  // namespace forge_aie
