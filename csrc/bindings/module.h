// The parts that make up the extension module.
#pragma once

#include <nanobind/nanobind.h>

namespace forge {

void bind_program(nanobind::module_& m);

}  // namespace forge
