// The parts that make up the extension module.
#pragma once

#include <nanobind/nanobind.h>

namespace forge {

void bind_probe(nanobind::module_& m);
void bind_program(nanobind::module_& m);

}  // namespace forge
