#include "kernels/rms_norm/rms_norm.h"

namespace forge {
namespace {

constexpr Field kFields[] = {
    FORGE_FIELD(RmsNormF32, x),          FORGE_FIELD(RmsNormF32, x_stride),
    FORGE_FIELD(RmsNormF32, w),          FORGE_FIELD(RmsNormF32, out),
    FORGE_FIELD(RmsNormF32, out_stride), FORGE_FIELD(RmsNormF32, rows),
    FORGE_FIELD(RmsNormF32, dim),        FORGE_FIELD(RmsNormF32, eps),
};

constexpr KernelVariant kVariants[] = {
#define FORGE_KERNEL(isa, name) {Isa::isa, Erased<&name>::run},
#include "kernels/rms_norm/kernels.inc"
#undef FORGE_KERNEL
};

}  // namespace

const Kernel rms_norm_f32_kernel = {"rms_norm_f32", sizeof(RmsNormF32), kFields, kVariants};

}  // namespace forge
