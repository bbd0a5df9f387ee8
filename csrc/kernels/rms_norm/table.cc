#include "kernels/rms_norm/rms_norm.h"

namespace forge {
namespace {

constexpr KernelRow<RmsNormF32Kernel> kTable[] = {
#define FORGE_KERNEL(isa, name) {Isa::isa, name},
#include "kernels/rms_norm/kernels.inc"
#undef FORGE_KERNEL
};

}  // namespace

std::span<const KernelRow<RmsNormF32Kernel>> rms_norm_f32_table() noexcept { return kTable; }

}  // namespace forge
