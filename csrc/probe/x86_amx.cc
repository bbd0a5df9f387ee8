#include <immintrin.h>

#include "probe/loops.h"

namespace forge {
namespace {

// All eight tiles as 16 rows of 64 bytes (Intel SDM volume 1, section 18.2).
struct alignas(64) TileConfig {
  std::uint8_t palette = 1, start_row = 0, reserved[14] = {};
  std::uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};

[[gnu::always_inline]] inline void start_tiles() noexcept {
  const TileConfig config;
  // GCC 12 believes that ldtilecfg reads eight bytes, and drops the stores to the others.
  asm volatile("" : : "r"(&config) : "memory");
  _tile_loadconfig(&config);
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  _tile_zero(4);
  _tile_zero(5);
  _tile_zero(6);
  _tile_zero(7);
}

}  // namespace

// Six accumulators, since the result of a product is ready after 52 cycles and a product takes 16.
float compute_bf16_amx(std::size_t rounds) noexcept {
  start_tiles();
  for (std::size_t round = 0; round < rounds; ++round) {
    _tile_dpbf16ps(0, 6, 7);
    _tile_dpbf16ps(1, 6, 7);
    _tile_dpbf16ps(2, 6, 7);
    _tile_dpbf16ps(3, 6, 7);
    _tile_dpbf16ps(4, 6, 7);
    _tile_dpbf16ps(5, 6, 7);
  }
  _tile_release();
  return 0.0f;
}

float compute_i8_amx(std::size_t rounds) noexcept {
  start_tiles();
  for (std::size_t round = 0; round < rounds; ++round) {
    _tile_dpbusd(0, 6, 7);
    _tile_dpbusd(1, 6, 7);
    _tile_dpbusd(2, 6, 7);
    _tile_dpbusd(3, 6, 7);
    _tile_dpbusd(4, 6, 7);
    _tile_dpbusd(5, 6, 7);
  }
  _tile_release();
  return 0.0f;
}

}  // namespace forge
