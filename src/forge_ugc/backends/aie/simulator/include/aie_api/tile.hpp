// Rounding and saturation, which are state of the tile.
#pragma once

#include "aie_api/types.hpp"
#include "aiesim/tile.h"

namespace aie {

using rounding_mode = aiesim::Rounding;

enum class saturation_mode : std::uint8_t { none, saturate, truncate = saturate, symmetric };

inline void set_rounding(rounding_mode mode) {
  aiesim::tile().rounding = mode;
  aiesim::tile().rounding_set = true;
}
inline rounding_mode get_rounding() { return aiesim::tile().rounding; }
// Sets a mode and gives back the one before.
inline rounding_mode swap_rounding(rounding_mode mode) {
  const rounding_mode before = get_rounding();
  set_rounding(mode);
  return before;
}

inline void set_saturation(saturation_mode mode) {
  aiesim::tile().saturation = static_cast<aiesim::Saturation>(mode);
  aiesim::tile().saturation_set = true;
}
inline saturation_mode get_saturation() {
  return static_cast<saturation_mode>(aiesim::tile().saturation);
}
inline saturation_mode swap_saturation(saturation_mode mode) {
  const saturation_mode before = get_saturation();
  set_saturation(mode);
  return before;
}

// The tile that the kernel runs on.
class tile {
 public:
  static tile current() { return {}; }
  std::uint64_t cycles() const { return static_cast<std::uint64_t>(aiesim::tile().now()); }
  void set_rounding(rounding_mode mode) { aie::set_rounding(mode); }
  rounding_mode get_rounding() const { return aie::get_rounding(); }
  void set_saturation(saturation_mode mode) { aie::set_saturation(mode); }
  saturation_mode get_saturation() const { return aie::get_saturation(); }
};

}  // namespace aie
