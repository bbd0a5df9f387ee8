#include "runtime/memory.h"

#include <new>
#include <utility>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace forge {
namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;

constexpr std::align_val_t alignment_of(std::size_t bytes) noexcept {
  return std::align_val_t{bytes >= kHugePage ? kHugePage : 64};
}

}  // namespace

Memory::Memory(std::size_t bytes) : bytes_(bytes) {
  if (bytes == 0) return;
  data_ = static_cast<std::byte*>(::operator new(bytes, alignment_of(bytes)));
#if defined(__linux__)
  // Advice: where the system has no huge pages, ordinary ones do as well.
  if (bytes >= kHugePage) madvise(data_, bytes / kHugePage * kHugePage, MADV_HUGEPAGE);
#endif
}

Memory::Memory(Memory&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

Memory& Memory::operator=(Memory&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

Memory::~Memory() {
  if (data_ != nullptr) ::operator delete(data_, alignment_of(bytes_));
}

}  // namespace forge
