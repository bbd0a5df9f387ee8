#include "kernels/attention/attention.h"

namespace forge {
namespace {

#define FORGE_ATTENTION_FIELDS(Args)                                                          \
  FORGE_FIELD(Args, q), FORGE_FIELD(Args, q_strides), FORGE_FIELD(Args, k),                   \
      FORGE_FIELD(Args, k_strides), FORGE_FIELD(Args, v), FORGE_FIELD(Args, v_strides),       \
      FORGE_FIELD(Args, mask), FORGE_FIELD(Args, mask_strides), FORGE_FIELD(Args, mask_type), \
      FORGE_FIELD(Args, out), FORGE_FIELD(Args, out_strides), FORGE_FIELD(Args, batch),       \
      FORGE_FIELD(Args, heads), FORGE_FIELD(Args, groups), FORGE_FIELD(Args, length),         \
      FORGE_FIELD(Args, keys), FORGE_FIELD(Args, size), FORGE_FIELD(Args, value_size),        \
      FORGE_FIELD(Args, scale), FORGE_FIELD(Args, left), FORGE_FIELD(Args, right),            \
      FORGE_FIELD(Args, empty_rows), FORGE_FIELD(Args, scratch)

constexpr Field kFieldsF32[] = {FORGE_ATTENTION_FIELDS(AttentionF32)};
// out_type of attention_f32 is what zeroed memory holds: f32.
static_assert(static_cast<int>(OutType::f32) == 0);
constexpr Field kFieldsBf16[] = {FORGE_ATTENTION_FIELDS(AttentionBf16),
                                 FORGE_FIELD(AttentionBf16, out_type)};

constexpr KernelVariant kVariantsF32[] = {
#define FORGE_KERNEL(isa, name) {Isa::isa, Erased<&name>::run},
#include "kernels/attention/kernels_f32.inc"
};
constexpr KernelVariant kVariantsBf16[] = {
#include "kernels/attention/kernels_bf16.inc"
#undef FORGE_KERNEL
};

template <typename Args>
std::size_t scratch_bytes(const void* args, unsigned shares) noexcept {
  const auto& a = *static_cast<const Args*>(args);
  return attention_scratch(a.keys, a.size, a.value_size).total * sizeof(float) * shares;
}

}  // namespace

const Kernel attention_f32_kernel = {"attention_f32", sizeof(AttentionF32), kFieldsF32,
                                     kVariantsF32, scratch_bytes<AttentionF32>};
const Kernel attention_bf16_kernel = {"attention_bf16", sizeof(AttentionBf16), kFieldsBf16,
                                      kVariantsBf16, scratch_bytes<AttentionBf16>};

}  // namespace forge
