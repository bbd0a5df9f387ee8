#include "kernels/linear_i8/linear_i8.h"

namespace forge {
namespace {

#define FIELD(member) FORGE_FIELD(LinearI8, member)
constexpr Field kFields[] = {
    FIELD(x),
    FIELD(x_stride),
    FIELD(x_scale),
    FIELD(rows),
    FIELD(depth),
    FIELD(parts),
    FIELD(columns),
    FIELD(w),
    FIELD(w_scale),
    FIELD(bias),
    FIELD(up),
    FIELD(up_scale),
    FIELD(up_bias),
    FIELD(bias_type),
    FIELD(activation),
    FIELD(scale),
    FIELD(residual),
    FIELD(residual_stride),
    FIELD(residual_type),
    FIELD(out),
    FIELD(out_stride),
    FIELD(out_type),
};
#undef FIELD

constexpr KernelVariant kVariants[] = {
#define FORGE_KERNEL(isa) {Isa::isa, Erased<&linear_i8_##isa>::run},
#include "kernels/linear_i8/kernels.inc"
#undef FORGE_KERNEL
};

#define FIELD(member) FORGE_FIELD(LinearPackI8, member)
constexpr Field kPackFields[] = {
    FIELD(w),     FIELD(row_stride), FIELD(depth_stride), FIELD(rows),
    FIELD(depth), FIELD(packed),     FIELD(first_column), FIELD(columns),
};
#undef FIELD

constexpr KernelVariant kPackVariants[] = {
#define FORGE_KERNEL(isa) {Isa::isa, Erased<&linear_pack_i8_##isa>::run},
#include "kernels/linear_i8/kernels.inc"
#undef FORGE_KERNEL
};

}  // namespace

const Kernel linear_i8_kernel = {"linear_i8", sizeof(LinearI8), kFields, kVariants};
const Kernel linear_pack_i8_kernel = {"linear_pack_i8", sizeof(LinearPackI8), kPackFields,
                                      kPackVariants};

}  // namespace forge
