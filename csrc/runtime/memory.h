// Memory for arenas, scratch and packed weights.
#pragma once

#include <cstddef>

namespace forge {

// Uninitialised bytes, 64-byte aligned; from 2 MiB on aligned to huge pages, which the system is
// asked to use. Throws std::bad_alloc.
class Memory {
 public:
  Memory() noexcept = default;
  explicit Memory(std::size_t bytes);
  Memory(Memory&& other) noexcept;
  Memory& operator=(Memory&& other) noexcept;
  ~Memory();

  std::byte* data() const noexcept { return data_; }
  std::size_t bytes() const noexcept { return bytes_; }

 private:
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace forge
