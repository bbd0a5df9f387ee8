// Reports of misuse that name the line of the kernel.
#pragma once

#include <cstdint>
#include <source_location>
#include <string>
#include <string_view>

#include "aiesim/tile.h"

namespace aie::detail {

using Site = std::source_location;

[[noreturn]] inline void misuse(const std::string& what, const Site& at) {
  aiesim::fail(std::string(at.file_name()) + ":" + std::to_string(at.line()) + ": " + what);
}

[[noreturn]] inline void misaligned(const void* address, std::size_t bytes, std::size_t alignment,
                                    std::string_view what, const Site& at) {
  const auto offset = reinterpret_cast<std::uintptr_t>(address) % alignment;
  misuse(std::string(what) + " of " + std::to_string(bytes) +
             " bytes needs an address that is a "
             "multiple of " +
             std::to_string(alignment) + ", this one is " + std::to_string(offset) +
             " bytes past one; declare the array with "
             "alignas(aie::vector_decl_align), or use the unaligned form",
         at);
}

template <class T, unsigned N>
inline void check_alignment(const void* address, std::size_t alignment, std::string_view what,
                            const Site& at) {
  if (address == nullptr) misuse(std::string(what) + " through a null pointer", at);
  if (reinterpret_cast<std::uintptr_t>(address) % alignment != 0) {
    misaligned(address, sizeof(T) * N, alignment, what, at);
  }
}

[[noreturn]] inline void out_of_range(std::string_view what, unsigned index, unsigned size,
                                      const Site& at = Site::current()) {
  misuse(std::string(what) + ": index " + std::to_string(index) + " of " + std::to_string(size),
         at);
}

}  // namespace aie::detail
