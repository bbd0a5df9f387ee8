#include "kernels/copy/copy.h"

namespace forge {
namespace {

constexpr Field kFields[] = {
    FORGE_FIELD(Copy, x),
    FORGE_FIELD(Copy, x_strides),
    FORGE_FIELD(Copy, out),
    FORGE_FIELD(Copy, out_offset),
    FORGE_FIELD(Copy, out_strides),
    FORGE_FIELD(Copy, sizes),
    FORGE_FIELD(Copy, element_bytes),
};

constexpr KernelVariant kVariants[] = {
#define FORGE_KERNEL(isa, name) {Isa::isa, Erased<&name>::run},
#include "kernels/copy/kernels.inc"
#undef FORGE_KERNEL
};

}  // namespace

const Kernel copy_kernel = {"copy", sizeof(Copy), kFields, kVariants};

}  // namespace forge
