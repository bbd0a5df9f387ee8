#include "bindings/arrays.h"

namespace forge {

void require(bool holds, const std::string& message) {
  if (!holds) throw nb::value_error(message.c_str());
}

}  // namespace forge
