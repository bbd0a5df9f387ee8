#include "bindings/arrays.h"

#include <algorithm>
#include <cstdlib>
#include <utility>
#include <vector>

namespace forge {
namespace {

// The addresses from the first byte to past the last one. The array is not empty.
template <typename Array>
std::pair<std::uintptr_t, std::uintptr_t> byte_range(const Array& array) {
  std::int64_t low = 0, high = 0;
  for (std::size_t axis = 0; axis < array.ndim(); ++axis) {
    const std::int64_t reach =
        array.stride(axis) * (static_cast<std::int64_t>(array.shape(axis)) - 1);
    (reach < 0 ? low : high) += reach;
  }
  const auto start = reinterpret_cast<std::uintptr_t>(array.data());
  constexpr auto kSize = static_cast<std::int64_t>(sizeof(float));
  return {start + low * kSize, start + (high + 1) * kSize};
}

}  // namespace

void require(bool holds, const std::string& message) {
  if (!holds) throw nb::value_error(message.c_str());
}

bool overlap(const Input& x, const Output& out) {
  const auto [x_low, x_high] = byte_range(x);
  const auto [out_low, out_high] = byte_range(out);
  return x_low < out_high && out_low < x_high;
}

bool same_elements(const Input& x, const Output& out) {
  if (x.data() != out.data()) return false;
  for (std::size_t axis = 0; axis < x.ndim(); ++axis) {
    if (x.shape(axis) > 1 && x.stride(axis) != out.stride(axis)) return false;
  }
  return true;
}

// Axes sorted by stride must nest.
bool has_distinct_elements(const Output& out) {
  std::vector<std::pair<std::int64_t, std::int64_t>> axes;
  for (std::size_t axis = 0; axis < out.ndim(); ++axis) {
    if (out.shape(axis) > 1) axes.emplace_back(std::abs(out.stride(axis)), out.shape(axis));
  }
  std::sort(axes.begin(), axes.end());
  std::int64_t reach = 0;
  for (const auto& [stride, size] : axes) {
    if (stride <= reach) return false;
    reach += stride * (size - 1);
  }
  return true;
}

}  // namespace forge
