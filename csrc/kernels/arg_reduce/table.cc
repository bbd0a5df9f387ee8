#include "kernels/arg_reduce/arg_reduce.h"

namespace forge {
namespace {

constexpr Field kFields[] = {
    FORGE_FIELD(ArgReduce, x),
    FORGE_FIELD(ArgReduce, x_type),
    FORGE_FIELD(ArgReduce, x_strides),
    FORGE_FIELD(ArgReduce, indices),
    FORGE_FIELD(ArgReduce, index_strides),
    FORGE_FIELD(ArgReduce, values),
    FORGE_FIELD(ArgReduce, value_strides),
    FORGE_FIELD(ArgReduce, outer),
    FORGE_FIELD(ArgReduce, count),
    FORGE_FIELD(ArgReduce, inner),
    FORGE_FIELD(ArgReduce, extremum),
};

constexpr KernelVariant kVariants[] = {
#define FORGE_KERNEL(isa, name) {Isa::isa, Erased<&name>::run},
#include "kernels/arg_reduce/kernels.inc"
#undef FORGE_KERNEL
};

}  // namespace

const Kernel arg_reduce_kernel = {"arg_reduce", sizeof(ArgReduce), kFields, kVariants};

}  // namespace forge
