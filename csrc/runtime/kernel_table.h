// The variants of one kernel, best first, and the choice among them.
#pragma once

#include <span>

#include "runtime/cpu_features.h"

namespace forge {

template <typename Function>
struct KernelRow {
  Isa isa;
  Function* function;
};

// The first row that needs at most `cap`. Every table ends in a row of Isa::none.
template <typename Function>
const KernelRow<Function>& select_kernel(std::span<const KernelRow<Function>> table,
                                         Isa cap) noexcept {
  for (const KernelRow<Function>& row : table) {
    if (row.isa <= cap) return row;
  }
  return table.back();
}

}  // namespace forge
