// Window ports of kernels: a buffer with a position that moves with each access.
#pragma once

#include <cstddef>

#include "aiesim/buffer.h"

namespace aiesim {

// The position is in bytes from the start of the margin, and wraps at the end of the block.
class WindowPort : public BufferPort {
 public:
  // Address of `bytes` bytes at the position. Fails if they do not lie inside margin and block.
  std::byte* at(std::size_t bytes) {
    std::byte* begin = bytes_begin();
    if (position_ + bytes > bytes_total()) past_end(bytes);
    return begin + position_;
  }
  void move(std::ptrdiff_t bytes) {
    const auto total = static_cast<std::ptrdiff_t>(bytes_total());
    auto next = static_cast<std::ptrdiff_t>(position_) + bytes;
    if (next < 0 || next >= total) next = total == 0 ? 0 : ((next % total) + total) % total;
    position_ = static_cast<std::size_t>(next);
  }
  std::size_t position() const noexcept { return position_; }
  void rewind() noexcept { position_ = 0; }

 private:
  [[noreturn]] void past_end(std::size_t bytes) const;

  std::size_t position_ = 0;
};

}  // namespace aiesim

template <class T>
struct input_window : aiesim::WindowPort {
  using value_type = T;
};

template <class T>
struct output_window : aiesim::WindowPort {
  using value_type = T;
};
