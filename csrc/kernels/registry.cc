#include "kernels/registry.h"

#include "kernels/linear/linear.h"
#include "kernels/rms_norm/rms_norm.h"

namespace forge {
namespace {

template <typename Function>
KernelEntry entry(std::string_view op, std::span<const KernelRow<Function>> table) {
  KernelEntry made{op, {}};
  for (const KernelRow<Function>& row : table) made.variants.push_back(row.isa);
  return made;
}

}  // namespace

std::vector<KernelEntry> kernel_registry() {
  return {entry("linear", linear_f32_table()), entry("rms_norm", rms_norm_f32_table())};
}

}  // namespace forge
