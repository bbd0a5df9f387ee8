#include "kernels/softmax/softmax.h"

namespace forge {
namespace {

constexpr Field kFields[] = {
    FORGE_FIELD(Softmax, x),    FORGE_FIELD(Softmax, x_type),   FORGE_FIELD(Softmax, x_stride),
    FORGE_FIELD(Softmax, out),  FORGE_FIELD(Softmax, out_type), FORGE_FIELD(Softmax, out_stride),
    FORGE_FIELD(Softmax, rows), FORGE_FIELD(Softmax, dim),      FORGE_FIELD(Softmax, result),
};

constexpr KernelVariant kVariants[] = {
#define FORGE_KERNEL(isa, name) {Isa::isa, Erased<&name>::run},
#include "kernels/softmax/kernels.inc"
#undef FORGE_KERNEL
};

}  // namespace

const Kernel softmax_kernel = {"softmax", sizeof(Softmax), kFields, kVariants};

}  // namespace forge
