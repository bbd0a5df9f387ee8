#include "kernels/registry.h"

namespace forge {

#define FORGE_KERNEL_INFO(name) extern const Kernel name##_kernel;
#include "kernels/all.inc"
#undef FORGE_KERNEL_INFO

namespace {

constexpr const Kernel* kAll[] = {
#define FORGE_KERNEL_INFO(name) &name##_kernel,
#include "kernels/all.inc"
#undef FORGE_KERNEL_INFO
};

}  // namespace

std::span<const Kernel* const> all_kernels() noexcept { return kAll; }

const Kernel* find_kernel(std::string_view name) noexcept {
  for (const Kernel* kernel : kAll) {
    if (kernel->name == name) return kernel;
  }
  return nullptr;
}

}  // namespace forge
