// What bindings check about arrays before their addresses go to a kernel.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <string>

namespace forge {

namespace nb = nanobind;

using Input = nb::ndarray<const float, nb::device::cpu>;
using Output = nb::ndarray<float, nb::device::cpu>;

// Throws ValueError with the message.
void require(bool holds, const std::string& message);

template <typename Array>
std::string shape_text(const Array& array) {
  std::string text = "[";
  for (std::size_t axis = 0; axis < array.ndim(); ++axis) {
    text.append(axis == 0 ? "" : ", ").append(std::to_string(array.shape(axis)));
  }
  return text + "]";
}

// Requires that elements of the last axis are adjacent.
template <typename Array>
void require_adjacent(const Array& array, const std::string& name) {
  const std::size_t last = array.ndim() - 1;
  require(
      array.stride(last) == 1 || array.shape(last) <= 1,
      name + " has stride " + std::to_string(array.stride(last)) + " on the last axis, expected 1");
}

// Whether the two share an address between their first and last bytes. Neither is empty.
bool overlap(const Input& x, const Output& out);

// Whether equal indices name equal addresses. Both have one shape.
bool same_elements(const Input& x, const Output& out);

// Whether no two indices name one address; may say no where strides are unusual.
bool has_distinct_elements(const Output& out);

}  // namespace forge
