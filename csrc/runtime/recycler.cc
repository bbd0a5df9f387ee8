#include "runtime/recycler.h"

#include <utility>

namespace forge {

Memory Recycler::take(std::size_t bytes) {
  {
    const std::lock_guard<std::mutex> guard(guard_);
    for (std::size_t i = free_.size(); i-- > 0;) {
      if (free_[i].bytes() != bytes) continue;
      Memory found = std::move(free_[i]);
      free_[i] = std::move(free_.back());
      free_.pop_back();
      return found;
    }
  }
  return Memory(bytes);
}

void Recycler::give_back(Memory block) noexcept {
  const std::lock_guard<std::mutex> guard(guard_);
  if (free_.size() >= kept_) free_.erase(free_.begin());
  if (kept_ == 0) return;
  try {
    free_.push_back(std::move(block));
  } catch (...) {  // no memory for the list: the block is freed instead
  }
}

}  // namespace forge
