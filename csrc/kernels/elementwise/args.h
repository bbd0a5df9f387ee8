// The arguments and variants of elementwise; holds no code, since files of every instruction set
// include it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/share.h"

namespace forge {

inline constexpr std::size_t kElementwiseOperands = 8, kElementwiseDims = 5;
inline constexpr std::size_t kElementwiseRegisters = 14, kElementwiseConstants = 13;
inline constexpr std::size_t kElementwiseSteps = 192;

enum class ElementwiseKind : int { f32, bf16, f16, i64, i32, boolean };

// What a step computes; the file says on which lanes.
enum class ElementwiseStep : std::uint8_t {
#define FORGE_STEP(name) name,
#include "kernels/elementwise/steps.inc"
#undef FORGE_STEP
};

// Registers hold one block of elements: floats for f32, bf16 and f16, 64-bit integers for i64 and
// i32, 32-bit 0 or 1 for booleans. The operands start in the first registers, the constants in
// those that follow.
struct Elementwise {
  const void* in[kElementwiseOperands];
  // Of operand i from [5 i] on, in elements, outermost first; 0 where it is repeated.
  std::ptrdiff_t in_strides[kElementwiseOperands * kElementwiseDims];
  int in_kinds[kElementwiseOperands];
  int operands;
  // May be an operand of the same kind and strides; overlaps no operand otherwise.
  void* out;
  std::ptrdiff_t out_strides[kElementwiseDims];
  int out_kind;
  std::size_t sizes[kElementwiseDims];  // outermost first
  int constants;
  // Low and high word of a lane: of a float or a boolean the low one alone.
  int constant_words[2 * kElementwiseConstants];
  int constant_kinds[kElementwiseConstants];
  int steps;
  // Step, then four bits each for the register written and the up to three registers read.
  int code[kElementwiseSteps];
  int result;  // the register that is stored
};

using ElementwiseKernel = void(const Elementwise&, Share) noexcept;

#define FORGE_KERNEL(isa, name) ElementwiseKernel name;
#include "kernels/elementwise/kernels.inc"
#undef FORGE_KERNEL

}  // namespace forge
