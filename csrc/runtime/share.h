// Which part of a piece of work one thread does.
#pragma once

#include <cstddef>

namespace forge {

struct Share {
  unsigned index;  // below count
  unsigned count;
};

struct Range {
  std::size_t begin, end;
};

// The part of [0, total) that falls to one share: parts are adjacent, in order, and differ by one
// at most. Static, since files of every instruction set include it.
[[maybe_unused]] static constexpr Range split(std::size_t total, Share share) noexcept {
  const std::size_t each = total / share.count, left = total % share.count;
  const std::size_t begin = each * share.index + (share.index < left ? share.index : left);
  return {begin, begin + each + (share.index < left ? 1 : 0)};
}

}  // namespace forge
