// The list of all kernels of the engine.
#pragma once

#include <span>
#include <string_view>

#include "runtime/kernel.h"

namespace forge {

// Everything that was compiled in, whether or not this processor runs it.
std::span<const Kernel* const> all_kernels() noexcept;

// The kernel of that name, or null.
const Kernel* find_kernel(std::string_view name) noexcept;

}  // namespace forge
