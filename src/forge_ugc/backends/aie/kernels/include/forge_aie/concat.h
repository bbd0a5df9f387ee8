// Two matrices side by side: the tiles of both for each block of eight rows.
//
// Config: rows, columns_a, columns_b (multiples of 8)
#pragma once

#include "forge_aie/tile.h"

namespace forge_aie {

template <typename Config>
void concat(input_stream<int8>* a, input_stream<int8>* b, output_stream<int8>* y) {
  const auto copy = [&](input_stream<int8>* from, unsigned columns) {
    for (unsigned i = 0; i < columns / tile_size * tile_pieces; ++i) chess_prepare_for_pipelining {
        writeincr(y, readincr_v<piece_bytes>(from));
      }
  };
  for (unsigned block = 0; block < Config::rows / tile_size; ++block) {
    copy(a, Config::columns_a);
    copy(b, Config::columns_b);
  }
}

}  // namespace forge_aie
