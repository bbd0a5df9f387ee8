// The Python extension module forge_ugc._native: checks arguments, then calls kernels.
#include "bindings/module.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <vector>

#include "bindings/fields.h"
#include "runtime/cpu_features.h"

namespace nb = nanobind;

namespace forge {
namespace {

std::vector<std::string> names(const std::vector<Isa>& rungs) {
  std::vector<std::string> made;
  for (Isa isa : rungs) made.emplace_back(isa_name(isa));
  return made;
}

}  // namespace
}  // namespace forge

NB_MODULE(_native, m) {
  m.doc() = "Kernels of Forge-UGC in C++; forge_ugc.native wraps them with types and errors.";
  m.def("cpu_isa", [] { return forge::names(forge::cpu_isa_ladder()); });
  m.def("isa_cap", [] { return std::string(forge::isa_name(forge::isa_cap())); });
  forge::bind_kernels(m);
  forge::bind_probe(m);
  forge::bind_program(m);
}
