// Arguments of a kernel by name, as Python gives them.
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "kernels/registry.h"

namespace forge {

namespace nb = nanobind;

// An address that a program knows only when it runs: `offset` bytes into the memory `index` of a
// space. Python writes it as a tuple (space, index, offset).
struct Relocation {
  std::size_t field_offset;  // of the pointer, in the arguments
  unsigned space, index;
  std::ptrdiff_t offset;
};

// Fills `args` (args_bytes, zeroed here) from a dict: pointers as integers, None or, if
// `relocations` is given, tuples; arrays as lists that may be shorter than the array; names that
// are absent are null if they are pointers, else refused. Throws ValueError or TypeError.
void fill_fields(const Kernel& kernel, const nb::dict& values, std::byte* args,
                 std::vector<Relocation>* relocations);

// The kernel of that name. Throws ValueError.
const Kernel& kernel_of(const std::string& name);

// The variant for that instruction set, or the best that FORGE_ISA allows. Throws ValueError if
// the kernel has no such variant or the processor cannot run it.
const KernelVariant& variant_of(const Kernel& kernel, const std::optional<std::string>& isa);

void bind_kernels(nb::module_& m);

}  // namespace forge
