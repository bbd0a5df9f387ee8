// Blocks of memory that are used again once whoever took them gives them back.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/memory.h"

namespace forge {

// Keeps at most `kept` blocks. Fresh memory of an operating system costs a page fault every few
// kilobytes, which for a large output is more than computing it. Safe from many threads.
class Recycler : public std::enable_shared_from_this<Recycler> {
 public:
  explicit Recycler(std::size_t kept) : kept_(kept) {}

  // At least `bytes` bytes, of a block that was given back if one of that size is there.
  // Throws std::bad_alloc.
  Memory take(std::size_t bytes);
  void give_back(Memory block) noexcept;

 private:
  const std::size_t kept_;
  std::mutex guard_;
  std::vector<Memory> free_;
};

}  // namespace forge
