// The list of all kernels of the engine with their variants.
#pragma once

#include <string_view>
#include <vector>

#include "runtime/cpu_features.h"

namespace forge {

struct KernelEntry {
  std::string_view op;
  std::vector<Isa> variants;  // best first
};

// Everything that was compiled in, whether or not this processor runs it.
std::vector<KernelEntry> kernel_registry();

}  // namespace forge
