#include "kernels/linear/linear.h"

namespace forge {
namespace {

constexpr KernelRow<const LinearF32Kernels> kTable[] = {
#define FORGE_KERNEL(isa, name) {Isa::isa, &name},
#include "kernels/linear/kernels.inc"
#undef FORGE_KERNEL
};

#define FIELD(member) FORGE_FIELD(LinearF32, member)
constexpr Field kFields[] = {
    FIELD(x),     FIELD(x_stride),   FIELD(rows),     FIELD(columns),
    FIELD(depth), FIELD(w),          FIELD(bias),     FIELD(activation),
    FIELD(up),    FIELD(up_bias),    FIELD(residual), FIELD(residual_stride),
    FIELD(out),   FIELD(out_stride),
};
#undef FIELD

constexpr KernelVariant kVariants[] = {
#define FORGE_KERNEL(isa, name) {Isa::isa, Erased<&multiply_f32_##isa>::run},
#include "kernels/linear/kernels.inc"
#undef FORGE_KERNEL
};

#define FIELD(member) FORGE_FIELD(LinearPackF32, member)
constexpr Field kPackFields[] = {
    FIELD(w),     FIELD(row_stride), FIELD(depth_stride), FIELD(rows),
    FIELD(depth), FIELD(packed),     FIELD(first_column), FIELD(columns),
};
#undef FIELD

constexpr KernelVariant kPackVariants[] = {
#define FORGE_KERNEL(isa, name) {Isa::isa, Erased<&pack_f32_##isa>::run},
#include "kernels/linear/kernels.inc"
#undef FORGE_KERNEL
};

}  // namespace

const Kernel linear_f32_kernel = {"linear_f32", sizeof(LinearF32), kFields, kVariants};
const Kernel linear_pack_f32_kernel = {"linear_pack_f32", sizeof(LinearPackF32), kPackFields,
                                       kPackVariants};

std::size_t linear_packed_bytes(std::size_t element_bytes, std::size_t columns,
                                std::size_t depth) noexcept {
  const auto round_up = [](std::size_t value, std::size_t by) {
    return (value + by - 1) / by * by;
  };
  const std::size_t along_depth =
      element_bytes == sizeof(float) ? depth * element_bytes : round_up(depth * element_bytes, 64);
  return round_up(columns, 16) * along_depth;
}

std::span<const KernelRow<const LinearF32Kernels>> linear_f32_table() noexcept { return kTable; }

}  // namespace forge
