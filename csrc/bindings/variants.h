// The choice of a kernel's variant by name.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "bindings/arrays.h"
#include "runtime/kernel_table.h"

namespace forge {

// The row of that name, or the best that FORGE_ISA allows. Throws ValueError if the table has no
// such row or the processor cannot run it.
template <typename Function>
const KernelRow<Function>& choose(std::span<const KernelRow<Function>> table,
                                  const std::optional<std::string>& isa) {
  if (!isa) return select_kernel(table, isa_cap());
  const std::optional<Isa> wanted = isa_from_name(*isa);
  for (const KernelRow<Function>& row : table) {
    if (!wanted || row.isa != *wanted) continue;
    require(*wanted <= cpu_isa(), "this processor has no " + *isa + ", only " +
                                      std::string(isa_name(cpu_isa())) + " and less");
    return row;
  }
  std::string known;
  for (const KernelRow<Function>& row : table) {
    known.append(known.empty() ? "" : ", ").append(isa_name(row.isa));
  }
  throw nb::value_error(("no variant for '" + *isa + "', expected one of " + known).c_str());
}

}  // namespace forge
