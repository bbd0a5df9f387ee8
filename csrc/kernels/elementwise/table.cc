#include "kernels/elementwise/elementwise.h"

namespace forge {
namespace {

constexpr Field kFields[] = {
    FORGE_FIELD(Elementwise, in),
    FORGE_FIELD(Elementwise, in_strides),
    FORGE_FIELD(Elementwise, in_kinds),
    FORGE_FIELD(Elementwise, operands),
    FORGE_FIELD(Elementwise, out),
    FORGE_FIELD(Elementwise, out_strides),
    FORGE_FIELD(Elementwise, out_kind),
    FORGE_FIELD(Elementwise, sizes),
    FORGE_FIELD(Elementwise, constants),
    FORGE_FIELD(Elementwise, constant_words),
    FORGE_FIELD(Elementwise, constant_kinds),
    FORGE_FIELD(Elementwise, steps),
    FORGE_FIELD(Elementwise, code),
    FORGE_FIELD(Elementwise, result),
};

constexpr KernelVariant kVariants[] = {
#define FORGE_KERNEL(isa, name) {Isa::isa, Erased<&name>::run},
#include "kernels/elementwise/kernels.inc"
#undef FORGE_KERNEL
};

}  // namespace

const Kernel elementwise_kernel = {"elementwise", sizeof(Elementwise), kFields, kVariants};

}  // namespace forge
