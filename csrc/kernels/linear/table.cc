#include "kernels/linear/linear.h"

namespace forge {
namespace {

constexpr KernelRow<const LinearF32Kernels> kTable[] = {
#define FORGE_KERNEL(isa, name) {Isa::isa, &name},
#include "kernels/linear/kernels.inc"
#undef FORGE_KERNEL
};

}  // namespace

std::span<const KernelRow<const LinearF32Kernels>> linear_f32_table() noexcept { return kTable; }

}  // namespace forge
