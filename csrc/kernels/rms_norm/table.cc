#include "kernels/rms_norm/rms_norm.h"

namespace forge {
namespace {

constexpr Field kFields[] = {
    FORGE_FIELD(RmsNorm, x),    FORGE_FIELD(RmsNorm, x_type),   FORGE_FIELD(RmsNorm, x_stride),
    FORGE_FIELD(RmsNorm, w),    FORGE_FIELD(RmsNorm, w_type),   FORGE_FIELD(RmsNorm, weight_offset),
    FORGE_FIELD(RmsNorm, out),  FORGE_FIELD(RmsNorm, out_type), FORGE_FIELD(RmsNorm, out_stride),
    FORGE_FIELD(RmsNorm, rows), FORGE_FIELD(RmsNorm, dim),      FORGE_FIELD(RmsNorm, eps),
};

constexpr KernelVariant kVariants[] = {
#define FORGE_KERNEL(isa, name) {Isa::isa, Erased<&name>::run},
#include "kernels/rms_norm/kernels.inc"
#undef FORGE_KERNEL
};

}  // namespace

const Kernel rms_norm_kernel = {"rms_norm", sizeof(RmsNorm), kFields, kVariants};

}  // namespace forge
