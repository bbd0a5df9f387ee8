#include "kernels/conv1d/conv1d.h"

namespace forge {
namespace {

constexpr Field kFields[] = {
    FORGE_FIELD(Conv1d, x),           FORGE_FIELD(Conv1d, x_strides),
    FORGE_FIELD(Conv1d, w),           FORGE_FIELD(Conv1d, w_strides),
    FORGE_FIELD(Conv1d, bias),        FORGE_FIELD(Conv1d, out),
    FORGE_FIELD(Conv1d, out_strides), FORGE_FIELD(Conv1d, batch),
    FORGE_FIELD(Conv1d, channels),    FORGE_FIELD(Conv1d, length),
    FORGE_FIELD(Conv1d, out_length),  FORGE_FIELD(Conv1d, taps),
    FORGE_FIELD(Conv1d, padding),
};

constexpr KernelVariant kVariants[] = {
#define FORGE_KERNEL(isa, name) {Isa::isa, Erased<&name>::run},
#include "kernels/conv1d/kernels.inc"
#undef FORGE_KERNEL
};

}  // namespace

const Kernel conv1d_kernel = {"conv1d", sizeof(Conv1d), kFields, kVariants};

}  // namespace forge
