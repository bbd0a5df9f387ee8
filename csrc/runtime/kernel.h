// What the engine knows about a kernel: its name, its arguments by name, its variants.
//
// A kernel is a function on one struct of pointers, sizes and numbers. The list of the struct's
// fields lets programs, tests and benchmarks fill it in by name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>

#include "runtime/cpu_features.h"
#include "runtime/share.h"

namespace forge {

// Computes one share of the work. Shares write to disjoint memory, and need no barrier. No
// allocation, no threads, no locks, no exceptions.
using KernelFunction = void(const void* args, Share share) noexcept;

enum class FieldKind : std::uint8_t { input, output, size, stride, real, integer };

// What a pointer points to.
enum class Element : std::uint8_t { none, any, f32, bf16, i8, u8, i32, i64 };

struct Field {
  std::string_view name;
  FieldKind kind;
  Element element;
  std::uint16_t count;  // 1, or the length of an array of fixed size
  std::uint32_t offset;
};

struct KernelVariant {
  Isa isa;
  KernelFunction* run;
};

struct Kernel {
  std::string_view name;
  std::size_t args_bytes;
  std::span<const Field> fields;
  std::span<const KernelVariant> variants;  // best first, down to Isa::none
  // Bytes that the field `scratch` must point to, 64-byte aligned; null for a kernel without one.
  std::size_t (*scratch_bytes)(const void* args, unsigned shares) noexcept = nullptr;
};

// bfloat16: the high half of a float. A type of its own, so that fields can tell it from uint16_t.
enum class Bf16 : std::uint16_t {};

template <typename T>
constexpr Element element_of() {
  using Plain = std::remove_cv_t<T>;
  if constexpr (std::is_same_v<Plain, float>) return Element::f32;
  if constexpr (std::is_same_v<Plain, Bf16>) return Element::bf16;
  if constexpr (std::is_same_v<Plain, std::int8_t>) return Element::i8;
  if constexpr (std::is_same_v<Plain, std::uint8_t>) return Element::u8;
  if constexpr (std::is_same_v<Plain, std::int32_t>) return Element::i32;
  if constexpr (std::is_same_v<Plain, std::int64_t>) return Element::i64;
  if constexpr (std::is_void_v<Plain>) return Element::any;
  return Element::none;
}

template <typename T>
constexpr Field make_field(std::string_view name, std::size_t offset) {
  if constexpr (std::is_array_v<T>) {
    Field made = make_field<std::remove_extent_t<T>>(name, offset);
    made.count = static_cast<std::uint16_t>(std::extent_v<T>);
    return made;
  } else if constexpr (std::is_pointer_v<T>) {
    using Target = std::remove_pointer_t<T>;
    static_assert(element_of<Target>() != Element::none, "no kernel reads such elements");
    const FieldKind kind = std::is_const_v<Target> ? FieldKind::input : FieldKind::output;
    return {name, kind, element_of<Target>(), 1, static_cast<std::uint32_t>(offset)};
  } else {
    constexpr bool is_integer = std::is_same_v<T, int> || std::is_enum_v<T>;
    static_assert(std::is_same_v<T, std::size_t> || std::is_same_v<T, std::ptrdiff_t> ||
                  std::is_same_v<T, float> || (is_integer && sizeof(T) == sizeof(int)));
    constexpr FieldKind kind = std::is_same_v<T, std::size_t>      ? FieldKind::size
                               : std::is_same_v<T, std::ptrdiff_t> ? FieldKind::stride
                               : std::is_same_v<T, float>          ? FieldKind::real
                                                                   : FieldKind::integer;
    return {name, kind, Element::none, 1, static_cast<std::uint32_t>(offset)};
  }
}

// One line of a kernel's list of fields.
#define FORGE_FIELD(Args, member) \
  ::forge::make_field<decltype(Args::member)>(#member, offsetof(Args, member))

// The function that a table holds, for a function on the kernel's own struct.
template <auto kFunction>
struct Erased;
template <typename Args, void (*kFunction)(const Args&, Share) noexcept>
struct Erased<kFunction> {
  static void run(const void* args, Share share) noexcept {
    kFunction(*static_cast<const Args*>(args), share);
  }
};

// The first variant that needs at most `cap`.
constexpr const KernelVariant& select_variant(const Kernel& kernel, Isa cap) noexcept {
  for (const KernelVariant& variant : kernel.variants) {
    if (variant.isa <= cap) return variant;
  }
  return kernel.variants.back();
}

}  // namespace forge
