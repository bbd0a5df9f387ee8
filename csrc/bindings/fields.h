// Arguments of a kernel by name, as Python gives them.
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "kernels/registry.h"
#include "runtime/program.h"

namespace forge {

namespace nb = nanobind;

// Fills `args` (args_bytes, zeroed here) from a dict: pointers as integers, None or, if
// `relocations` is given, tuples (space, index, offset); arrays as lists that may be shorter than
// the array; names that are absent are null if they are pointers, else refused. Throws ValueError
// or TypeError.
void fill_fields(const Kernel& kernel, const nb::dict& values, std::byte* args,
                 std::vector<Relocation>* relocations);

// The kernel of that name. Throws ValueError.
const Kernel& kernel_of(const std::string& name);

// The variant for that instruction set, or the best that FORGE_ISA allows. Throws ValueError if
// the kernel has no such variant or the processor cannot run it.
const KernelVariant& variant_of(const Kernel& kernel, const std::optional<std::string>& isa);

void bind_kernels(nb::module_& m);

}  // namespace forge
