#include "kernels/linear/linear.h"

namespace forge {
namespace {

#define FIELD(member) FORGE_FIELD(LinearOf<Element>, member)
#define COMMON_FIELDS                                                                            \
  FIELD(x), FIELD(x_stride), FIELD(rows), FIELD(depth), FIELD(parts), FIELD(columns), FIELD(w),  \
      FIELD(bias), FIELD(up), FIELD(up_bias), FIELD(bias_type), FIELD(activation), FIELD(scale), \
      FIELD(residual), FIELD(residual_stride), FIELD(residual_type), FIELD(out),                 \
      FIELD(out_stride), FIELD(out_type)

template <typename Element>
constexpr Field kFields[] = {COMMON_FIELDS};
template <typename Element>
constexpr Field kFieldsWithScratch[] = {COMMON_FIELDS, FIELD(scratch)};
#undef COMMON_FIELDS
#undef FIELD

constexpr KernelVariant kVariantsF32[] = {
#define FORGE_KERNEL(isa, suffix) {Isa::isa, Erased<&linear_f32_##suffix>::run},
#include "kernels/linear/kernels.inc"
#undef FORGE_KERNEL
};

constexpr Field kPackFieldsF32[] = {
#define FIELD(member) FORGE_FIELD(LinearPackF32, member)
    FIELD(w),     FIELD(row_stride), FIELD(depth_stride), FIELD(rows),
    FIELD(depth), FIELD(packed),     FIELD(first_column), FIELD(columns),
#undef FIELD
};

constexpr Field kPackFieldsBf16[] = {
#define FIELD(member) FORGE_FIELD(LinearPackBf16, member)
    FIELD(w),     FIELD(row_stride), FIELD(depth_stride), FIELD(source_type), FIELD(rows),
    FIELD(depth), FIELD(packed),     FIELD(first_column), FIELD(columns),
#undef FIELD
};

constexpr KernelVariant kPackVariantsF32[] = {
#define FORGE_KERNEL(isa, suffix) {Isa::isa, Erased<&linear_pack_f32_##suffix>::run},
#include "kernels/linear/kernels.inc"
#undef FORGE_KERNEL
};

constexpr KernelVariant kVariantsBf16[] = {
#define FORGE_KERNEL(isa, suffix) {Isa::isa, Erased<&linear_bf16_##suffix>::run},
#include "kernels/linear/kernels_bf16.inc"
#undef FORGE_KERNEL
};

constexpr KernelVariant kPackVariantsBf16[] = {
#define FORGE_KERNEL(isa, suffix) {Isa::isa, Erased<&linear_pack_bf16_##suffix>::run},
#include "kernels/linear/kernels_bf16.inc"
#undef FORGE_KERNEL
};

std::size_t scratch_bytes(const void* args, unsigned shares) noexcept {
  const auto& a = *static_cast<const LinearBf16*>(args);
  return shares * linear_scratch_bytes(a.rows, a.depth);
}

}  // namespace

const Kernel linear_f32_kernel = {"linear_f32", sizeof(LinearF32), kFields<float>, kVariantsF32};
const Kernel linear_pack_f32_kernel = {"linear_pack_f32", sizeof(LinearPackF32), kPackFieldsF32,
                                       kPackVariantsF32};

const Kernel linear_bf16_kernel = {"linear_bf16", sizeof(LinearBf16), kFieldsWithScratch<Bf16>,
                                   kVariantsBf16, scratch_bytes};
const Kernel linear_pack_bf16_kernel = {"linear_pack_bf16", sizeof(LinearPackBf16), kPackFieldsBf16,
                                        kPackVariantsBf16};

std::size_t linear_packed_bytes(std::size_t element_bytes, std::size_t columns,
                                std::size_t depth) noexcept {
  const auto round_up = [](std::size_t value, std::size_t by) {
    return (value + by - 1) / by * by;
  };
  const std::size_t along_depth =
      element_bytes == sizeof(float) ? depth * element_bytes : round_up(depth * element_bytes, 64);
  return round_up(columns, 16) * along_depth;
}

}  // namespace forge
