#include "kernels/gather/gather.h"

namespace forge {
namespace {

constexpr Field kFields[] = {
    FORGE_FIELD(Gather, x),
    FORGE_FIELD(Gather, x_strides),
    FORGE_FIELD(Gather, ids),
    FORGE_FIELD(Gather, ids_strides),
    FORGE_FIELD(Gather, ids_bytes),
    FORGE_FIELD(Gather, axis_strides),
    FORGE_FIELD(Gather, axis_sizes),
    FORGE_FIELD(Gather, indices),
    FORGE_FIELD(Gather, from_end),
    FORGE_FIELD(Gather, out),
    FORGE_FIELD(Gather, out_strides),
    FORGE_FIELD(Gather, sizes),
    FORGE_FIELD(Gather, element_bytes),
    FORGE_FIELD(Gather, conversion),
    FORGE_FIELD(Gather, status),
    FORGE_FIELD(Gather, step),
};

constexpr KernelVariant kVariants[] = {
#define FORGE_KERNEL(isa, name) {Isa::isa, Erased<&name>::run},
#include "kernels/gather/kernels.inc"
#undef FORGE_KERNEL
};

}  // namespace

const Kernel gather_kernel = {"gather", sizeof(Gather), kFields, kVariants};

}  // namespace forge
