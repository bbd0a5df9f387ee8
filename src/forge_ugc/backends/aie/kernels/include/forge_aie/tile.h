// The layout that all kernels share, and moving it through ports.
//
// A matrix is cut into tiles of 8 x 8 bytes, each row-major; a block is the tiles of eight rows,
// from left to right. Blocks pass one after the other. The upper and the lower half of a tile are
// the 4 x 8 left operand of mmul<4, 8, 8>, the whole tile is its 8 x 8 right operand: nothing is
// ever shuffled between two layers.
#pragma once

#include <adf.h>

#include <aie_api/aie.hpp>
#include <aie_api/aie_adf.hpp>

namespace forge_aie {

inline constexpr unsigned tile_size = 8;    // rows and columns of a tile
inline constexpr unsigned tile_bytes = 64;  // of i8
inline constexpr unsigned half_bytes = 32;
inline constexpr unsigned piece_bytes = 16;  // what a stream reads or writes at once, in 4 cycles
inline constexpr unsigned tile_pieces = tile_bytes / piece_bytes;

using Half = aie::vector<int8, half_bytes>;       // four rows of a tile
using HalfSums = aie::vector<int32, half_bytes>;  // their sums before requantisation

// Rounding and saturation are state of the tile, and off at power-on: every kernel sets both.
inline void set_modes() {
  aie::set_rounding(aie::rounding_mode::conv_even);
  aie::set_saturation(aie::saturation_mode::saturate);
}

// The blocks of a matrix at a port, `Tiles` tiles each. A block is read where `current` points;
// `fetch<N>` may be called between `current` and `advance` and moves up to N pieces of the next
// block, so that its transfer hides behind the arithmetic on this one.
template <typename Port, unsigned Tiles>
class Blocks;

// Of a stream: two blocks in local memory, one that is worked on and one that is filled.
template <unsigned Tiles>
class Blocks<input_stream<int8>*, Tiles> {
 public:
  explicit Blocks(input_stream<int8>* port) : port_(port) {
    fetch<Tiles * tile_pieces>();
    advance();
  }

  const int8* current() const { return memory_[1 - filling_]; }

  template <unsigned Pieces>
  void fetch() {
    for (unsigned i = 0; i < Pieces; ++i) {
      aie::store_v(next_, readincr_v<piece_bytes>(port_));
      next_ += piece_bytes;
    }
  }

  void advance() {
    filling_ = 1 - filling_;
    next_ = memory_[filling_];
  }

 private:
  alignas(aie::vector_decl_align) int8 memory_[2][Tiles * tile_bytes];
  unsigned filling_ = 0;
  int8* next_ = memory_[0];
  input_stream<int8>* port_;
};

// Of two streams that are read side by side: a block is the tiles of the first, then those of the
// second. Each stream has its own port, so the pieces of both arrive at the same time.
template <unsigned FirstTiles, unsigned SecondTiles>
class PairedBlocks {
 public:
  PairedBlocks(input_stream<int8>* first, input_stream<int8>* second)
      : first_(first), second_(second) {
    fetch<(FirstTiles + SecondTiles) * tile_pieces>();
    advance();
  }

  const int8* current() const { return memory_[1 - filling_]; }

  template <unsigned Pieces>
  void fetch() {
    for (unsigned i = 0; i < Pieces; ++i) {
      if constexpr (FirstTiles == SecondTiles) {
        fetch_from(fetched_ % 2 == 0, fetched_ / 2 * piece_bytes);
      } else {
        const bool from_first = fetched_ < FirstTiles * tile_pieces;
        fetch_from(from_first,
                   (fetched_ - (from_first ? 0 : FirstTiles * tile_pieces)) * piece_bytes);
      }
      ++fetched_;
    }
  }

  void advance() {
    filling_ = 1 - filling_;
    fetched_ = 0;
  }

 private:
  void fetch_from(bool from_first, unsigned offset) {
    if (from_first) {
      aie::store_v(memory_[filling_] + offset, readincr_v<piece_bytes>(first_));
    } else {
      aie::store_v(memory_[filling_] + FirstTiles * tile_bytes + offset,
                   readincr_v<piece_bytes>(second_));
    }
  }

  alignas(aie::vector_decl_align) int8 memory_[2][(FirstTiles + SecondTiles) * tile_bytes];
  unsigned filling_ = 0;
  unsigned fetched_ = 0;
  input_stream<int8>* first_;
  input_stream<int8>* second_;
};

// Of a matrix in memory, which is all there: nothing to fetch.
template <unsigned Tiles>
class MemoryBlocks {
 public:
  explicit MemoryBlocks(const int8* first) : current_(first) {}
  const int8* current() const { return current_; }
  template <unsigned Pieces>
  void fetch() {}
  void advance() { current_ += Tiles * tile_bytes; }

 private:
  const int8* current_;
};

template <unsigned Tiles>
class Blocks<adf::input_buffer<int8>, Tiles> : public MemoryBlocks<Tiles> {
 public:
  explicit Blocks(adf::input_buffer<int8>& port) : MemoryBlocks<Tiles>(port.data()) {}
};

// Stands in for blocks while the last one is worked on: there is no next one to fetch.
struct NoMoreBlocks {
  template <unsigned Pieces>
  void fetch() {}
};

// Calls body(block, next) for `Count` blocks; the last has no next one to fetch.
template <unsigned Count, typename Rows, typename Body>
inline void for_each_block(Rows& rows, Body&& body) {
  for (unsigned i = 1; i < Count; ++i) {
    body(rows.current(), rows);
    rows.advance();
  }
  NoMoreBlocks nothing;
  body(rows.current(), nothing);
}

// Where results go, half a tile at a time.
template <typename Port>
class Writer;

template <>
class Writer<output_stream<int8>*> {
 public:
  explicit Writer(output_stream<int8>* port) : port_(port) {}
  void put(const Half& half) {
    writeincr(port_, half.template extract<piece_bytes>(0));
    writeincr(port_, half.template extract<piece_bytes>(1));
  }

 private:
  output_stream<int8>* port_;
};

class MemoryWriter {
 public:
  explicit MemoryWriter(int8* next) : next_(next) {}
  void put(const Half& half) {
    aie::store_v(next_, half);
    next_ += half_bytes;
  }

 private:
  int8* next_;
};

template <>
class Writer<adf::output_buffer<int8>> : public MemoryWriter {
 public:
  explicit Writer(adf::output_buffer<int8>& port) : MemoryWriter(port.data()) {}
};

// A matrix that stays in local memory while it is used: keys, values. From a stream it is read into
// an array of the kernel, a buffer is used where it lies.
template <typename Port, unsigned Tiles>
class Matrix;

template <unsigned Tiles>
class Matrix<input_stream<int8>*, Tiles> {
 public:
  explicit Matrix(input_stream<int8>* port) {
    for (unsigned i = 0; i < Tiles * tile_pieces; ++i) chess_prepare_for_pipelining {
        aie::store_v(memory_ + i * piece_bytes, readincr_v<piece_bytes>(port));
      }
  }
  const int8* data() const { return memory_; }

 private:
  alignas(aie::vector_decl_align) int8 memory_[Tiles * tile_bytes];
};

template <unsigned Tiles>
class Matrix<adf::input_buffer<int8>, Tiles> {
 public:
  explicit Matrix(adf::input_buffer<int8>& port) : data_(port.data()) {}
  const int8* data() const { return data_; }

 private:
  const int8* data_;
};

}  // namespace forge_aie
