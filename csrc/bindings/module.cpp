// The Python extension module forge_ugc._native: checks arguments, then calls kernels.
#include "bindings/module.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <vector>

#include "kernels/registry.h"
#include "runtime/cpu_features.h"

namespace nb = nanobind;

namespace forge {
namespace {

std::vector<std::string> names(const std::vector<Isa>& rungs) {
  std::vector<std::string> made;
  for (Isa isa : rungs) made.emplace_back(isa_name(isa));
  return made;
}

nb::dict kernel_table() {
  nb::dict table;
  for (const KernelEntry& kernel : kernel_registry()) {
    table[nb::str(kernel.op.data(), kernel.op.size())] = nb::cast(names(kernel.variants));
  }
  return table;
}

}  // namespace
}  // namespace forge

NB_MODULE(_native, m) {
  m.doc() = "Kernels of Forge-UGC in C++; forge_ugc.native wraps them with types and errors.";
  m.def("cpu_isa", [] { return forge::names(forge::cpu_isa_ladder()); });
  m.def("isa_cap", [] { return std::string(forge::isa_name(forge::isa_cap())); });
  m.def("kernel_table", &forge::kernel_table);
  forge::bind_linear(m);
  forge::bind_rms_norm(m);
}
