// What bindings check before arguments go to a kernel.
#pragma once

#include <nanobind/nanobind.h>

#include <string>

namespace forge {

namespace nb = nanobind;

// Throws ValueError with the message.
void require(bool holds, const std::string& message);

}  // namespace forge
