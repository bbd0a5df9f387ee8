#include "kernels/reduce/reduce.h"

namespace forge {
namespace {

constexpr Field kFields[] = {
    FORGE_FIELD(Reduce, x),         FORGE_FIELD(Reduce, x_type),   FORGE_FIELD(Reduce, x_strides),
    FORGE_FIELD(Reduce, out),       FORGE_FIELD(Reduce, out_type), FORGE_FIELD(Reduce, out_strides),
    FORGE_FIELD(Reduce, outer),     FORGE_FIELD(Reduce, count),    FORGE_FIELD(Reduce, inner),
    FORGE_FIELD(Reduce, reduction),
};

constexpr KernelVariant kVariants[] = {
#define FORGE_KERNEL(isa, name) {Isa::isa, Erased<&name>::run},
#include "kernels/reduce/kernels.inc"
#undef FORGE_KERNEL
};

}  // namespace

const Kernel reduce_kernel = {"reduce", sizeof(Reduce), kFields, kVariants};

}  // namespace forge
