#include "kernels/layer_norm/layer_norm.h"

namespace forge {
namespace {

constexpr Field kFields[] = {
    FORGE_FIELD(LayerNorm, x),          FORGE_FIELD(LayerNorm, x_type),
    FORGE_FIELD(LayerNorm, x_stride),   FORGE_FIELD(LayerNorm, w),
    FORGE_FIELD(LayerNorm, bias),       FORGE_FIELD(LayerNorm, w_type),
    FORGE_FIELD(LayerNorm, out),        FORGE_FIELD(LayerNorm, out_type),
    FORGE_FIELD(LayerNorm, out_stride), FORGE_FIELD(LayerNorm, mean),
    FORGE_FIELD(LayerNorm, rstd),       FORGE_FIELD(LayerNorm, rows),
    FORGE_FIELD(LayerNorm, dim),        FORGE_FIELD(LayerNorm, eps),
};

constexpr KernelVariant kVariants[] = {
#define FORGE_KERNEL(isa, name) {Isa::isa, Erased<&name>::run},
#include "kernels/layer_norm/kernels.inc"
#undef FORGE_KERNEL
};

}  // namespace

const Kernel layer_norm_kernel = {"layer_norm", sizeof(LayerNorm), kFields, kVariants};

}  // namespace forge
