#include "kernels/rotary/rotary.h"

namespace forge {
namespace {

constexpr Field kFields[] = {
    FORGE_FIELD(Rotary, x),           FORGE_FIELD(Rotary, x_type),
    FORGE_FIELD(Rotary, x_strides),   FORGE_FIELD(Rotary, cos),
    FORGE_FIELD(Rotary, cos_strides), FORGE_FIELD(Rotary, sin),
    FORGE_FIELD(Rotary, sin_strides), FORGE_FIELD(Rotary, table_type),
    FORGE_FIELD(Rotary, table),       FORGE_FIELD(Rotary, pairs),
    FORGE_FIELD(Rotary, out),         FORGE_FIELD(Rotary, out_type),
    FORGE_FIELD(Rotary, out_strides), FORGE_FIELD(Rotary, sizes),
    FORGE_FIELD(Rotary, dim),         FORGE_FIELD(Rotary, turned),
};

constexpr KernelVariant kVariants[] = {
#define FORGE_KERNEL(isa, name) {Isa::isa, Erased<&name>::run},
#include "kernels/rotary/kernels.inc"
#undef FORGE_KERNEL
};

}  // namespace

const Kernel rotary_kernel = {"rotary", sizeof(Rotary), kFields, kVariants};

}  // namespace forge
