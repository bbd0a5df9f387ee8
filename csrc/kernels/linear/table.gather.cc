#include "kernels/linear/gather.h"

namespace forge {

#define FORGE_KERNEL(isa, suffix) \
  void linear_gather_f32_##suffix(const LinearGather& args, Share share) noexcept;
#include "kernels/linear/kernels.inc"
#undef FORGE_KERNEL
#define FORGE_KERNEL(isa, suffix) \
  void linear_gather_bf16_##suffix(const LinearGather& args, Share share) noexcept;
#include "kernels/linear/kernels_bf16.inc"
#undef FORGE_KERNEL
#define FORGE_KERNEL(isa) void linear_gather_i8_##isa(const LinearGather& args, Share) noexcept;
#include "kernels/linear_i8/kernels.inc"
#undef FORGE_KERNEL

namespace {

#define FIELD(member) FORGE_FIELD(LinearGather, member)
constexpr Field kFields[] = {
    FIELD(packed),     FIELD(columns),   FIELD(depth), FIELD(scale), FIELD(ids),
    FIELD(ids_stride), FIELD(ids_bytes), FIELD(rows),  FIELD(out),   FIELD(out_type),
    FIELD(out_stride), FIELD(status),    FIELD(step),
};
#undef FIELD

constexpr KernelVariant kF32[] = {
#define FORGE_KERNEL(isa, suffix) {Isa::isa, Erased<&linear_gather_f32_##suffix>::run},
#include "kernels/linear/kernels.inc"
#undef FORGE_KERNEL
};

constexpr KernelVariant kBf16[] = {
#define FORGE_KERNEL(isa, suffix) {Isa::isa, Erased<&linear_gather_bf16_##suffix>::run},
#include "kernels/linear/kernels_bf16.inc"
#undef FORGE_KERNEL
};

constexpr KernelVariant kI8[] = {
#define FORGE_KERNEL(isa) {Isa::isa, Erased<&linear_gather_i8_##isa>::run},
#include "kernels/linear_i8/kernels.inc"
#undef FORGE_KERNEL
};

}  // namespace

const Kernel linear_gather_f32_kernel = {"linear_gather_f32", sizeof(LinearGather), kFields, kF32};
const Kernel linear_gather_bf16_kernel = {"linear_gather_bf16", sizeof(LinearGather), kFields,
                                          kBf16};
const Kernel linear_gather_i8_kernel = {"linear_gather_i8", sizeof(LinearGather), kFields, kI8};

}  // namespace forge
