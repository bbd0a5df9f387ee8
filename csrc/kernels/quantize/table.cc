#include "kernels/quantize/quantize.h"

namespace forge {
namespace {

#define FIELD(member) FORGE_FIELD(QuantizeRows, member)
constexpr Field kRowFields[] = {
    FIELD(x),     FIELD(x_type), FIELD(x_stride), FIELD(rows),
    FIELD(depth), FIELD(q),      FIELD(q_stride), FIELD(scale),
};
#undef FIELD

constexpr KernelVariant kRowVariants[] = {
#define FORGE_KERNEL(isa) {Isa::isa, Erased<&quantize_rows_##isa>::run},
#include "kernels/quantize/kernels.inc"
#undef FORGE_KERNEL
};

#define FIELD(member) FORGE_FIELD(QuantizeWeights, member)
constexpr Field kWeightFields[] = {
    FIELD(w),     FIELD(w_type), FIELD(row_stride), FIELD(depth_stride), FIELD(rows),
    FIELD(depth), FIELD(q),      FIELD(q_stride),   FIELD(scale),
};
#undef FIELD

constexpr KernelVariant kWeightVariants[] = {
#define FORGE_KERNEL(isa) {Isa::isa, Erased<&quantize_weights_##isa>::run},
#include "kernels/quantize/kernels.inc"
#undef FORGE_KERNEL
};

}  // namespace

const Kernel quantize_rows_kernel = {"quantize_rows", sizeof(QuantizeRows), kRowFields,
                                     kRowVariants};
const Kernel quantize_weights_kernel = {"quantize_weights", sizeof(QuantizeWeights), kWeightFields,
                                        kWeightVariants};

}  // namespace forge
