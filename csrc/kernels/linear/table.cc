#include "kernels/linear/linear.h"

namespace forge {
namespace {

template <typename Element>
constexpr Field kFields[] = {
#define FIELD(member) FORGE_FIELD(LinearOf<Element>, member)
    FIELD(x),
    FIELD(x_stride),
    FIELD(rows),
    FIELD(depth),
    FIELD(parts),
    FIELD(columns),
    FIELD(w),
    FIELD(bias),
    FIELD(up),
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
#undef FIELD
};

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

constexpr KernelVariant kPackVariantsF32[] = {
#define FORGE_KERNEL(isa, suffix) {Isa::isa, Erased<&linear_pack_f32_##suffix>::run},
#include "kernels/linear/kernels.inc"
#undef FORGE_KERNEL
};

}  // namespace

const Kernel linear_f32_kernel = {"linear_f32", sizeof(LinearF32), kFields<float>, kVariantsF32};
const Kernel linear_pack_f32_kernel = {"linear_pack_f32", sizeof(LinearPackF32), kPackFieldsF32,
                                       kPackVariantsF32};

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
