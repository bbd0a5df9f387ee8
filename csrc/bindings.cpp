// The Python extension module forge_ugc._native: checks arguments, then calls kernels.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kernels/registry.h"
#include "kernels/rms_norm/rms_norm.h"
#include "runtime/cpu_features.h"

namespace nb = nanobind;

namespace forge {
namespace {

using Input = nb::ndarray<const float, nb::device::cpu>;
using Output = nb::ndarray<float, nb::device::cpu>;

void require(bool holds, const std::string& message) {
  if (!holds) throw nb::value_error(message.c_str());
}

template <typename Array>
std::string shape_text(const Array& array) {
  std::string text = "[";
  for (std::size_t axis = 0; axis < array.ndim(); ++axis) {
    text.append(axis == 0 ? "" : ", ").append(std::to_string(array.shape(axis)));
  }
  return text + "]";
}

template <typename Array>
void require_adjacent(const Array& array, const std::string& name) {
  const std::size_t last = array.ndim() - 1;
  require(
      array.stride(last) == 1 || array.shape(last) <= 1,
      name + " has stride " + std::to_string(array.stride(last)) + " on the last axis, expected 1");
}

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

template <typename Left, typename Right>
bool overlap(const Left& left, const Right& right) {
  const auto [left_low, left_high] = byte_range(left);
  const auto [right_low, right_high] = byte_range(right);
  return left_low < right_high && right_low < left_high;
}

bool same_elements(const Input& x, const Output& out) {
  if (x.data() != out.data()) return false;
  for (std::size_t axis = 0; axis < x.ndim(); ++axis) {
    if (x.shape(axis) > 1 && x.stride(axis) != out.stride(axis)) return false;
  }
  return true;
}

// Rejects an output in which two indices name one address: axes sorted by stride must nest.
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

void check_rms_norm(const Input& x, const std::optional<Input>& w, const Output& out) {
  require(x.ndim() >= 1, "x has no axis, expected at least one");
  bool same_shape = x.ndim() == out.ndim();
  for (std::size_t axis = 0; same_shape && axis < x.ndim(); ++axis) {
    same_shape = x.shape(axis) == out.shape(axis);
  }
  require(same_shape, "out is " + shape_text(out) + ", expected " + shape_text(x) + " as x");
  const std::size_t dim = x.shape(x.ndim() - 1);
  require(!w || (w->ndim() == 1 && w->shape(0) == dim),
          "w is " + (w ? shape_text(*w) : "") + ", expected [" + std::to_string(dim) + "]");
  if (x.size() == 0) return;
  require_adjacent(x, "x");
  require_adjacent(out, "out");
  if (w) require_adjacent(*w, "w");
  require(has_distinct_elements(out), "two elements of out share one address");
  require(same_elements(x, out) || !overlap(x, out), "out overlaps x without being x");
  require(!w || !overlap(*w, out), "out overlaps w");
}

template <typename Function>
Function* choose(std::span<const KernelRow<Function>> table,
                 const std::optional<std::string>& isa) {
  if (!isa) return select_kernel(table, isa_cap()).function;
  const std::optional<Isa> wanted = isa_from_name(*isa);
  for (const KernelRow<Function>& row : table) {
    if (!wanted || row.isa != *wanted) continue;
    require(*wanted <= cpu_isa(), "this processor has no " + *isa + ", only " +
                                      std::string(isa_name(cpu_isa())) + " and less");
    return row.function;
  }
  std::string known;
  for (const KernelRow<Function>& row : table) {
    known.append(known.empty() ? "" : ", ").append(isa_name(row.isa));
  }
  throw nb::value_error(("no variant for '" + *isa + "', expected one of " + known).c_str());
}

// Calls `body(offset of x, offset of out)` for every index of the axes before the last two.
template <typename Body>
void for_each_matrix(const Input& x, const Output& out, std::size_t outer_axes, Body body) {
  std::vector<std::size_t> index(outer_axes, 0);
  std::int64_t at_x = 0, at_out = 0;
  while (true) {
    body(at_x, at_out);
    std::size_t axis = outer_axes;
    while (axis > 0) {
      --axis;
      at_x += x.stride(axis);
      at_out += out.stride(axis);
      if (++index[axis] < x.shape(axis)) break;
      at_x -= x.stride(axis) * static_cast<std::int64_t>(index[axis]);
      at_out -= out.stride(axis) * static_cast<std::int64_t>(index[axis]);
      index[axis] = 0;
      if (axis == 0) return;
    }
    if (outer_axes == 0) return;
  }
}

void rms_norm(const Input& x, const std::optional<Input>& w, float eps, const Output& out,
              const std::optional<std::string>& isa) {
  check_rms_norm(x, w, out);
  RmsNormF32Kernel* const kernel = choose(rms_norm_f32_table(), isa);
  if (x.size() == 0) return;
  const std::size_t rank = x.ndim();
  const bool has_rows = rank >= 2;
  RmsNormF32 arguments{
      .x = x.data(),
      .x_stride = has_rows ? x.stride(rank - 2) : 0,
      .w = w ? w->data() : nullptr,
      .out = out.data(),
      .out_stride = has_rows ? out.stride(rank - 2) : 0,
      .rows = has_rows ? x.shape(rank - 2) : 1,
      .dim = x.shape(rank - 1),
      .eps = eps,
  };
  const nb::gil_scoped_release unlocked;
  for_each_matrix(x, out, has_rows ? rank - 2 : 0, [&](std::int64_t at_x, std::int64_t at_out) {
    arguments.x = x.data() + at_x;
    arguments.out = out.data() + at_out;
    kernel(arguments);
  });
}

std::vector<std::string> names(const std::vector<Isa>& rungs) {
  std::vector<std::string> made;
  for (Isa isa : rungs) made.emplace_back(isa_name(isa));
  return made;
}

nb::dict kernel_table() {
  nb::dict table;
  for (const KernelEntry& kernel : kernel_registry()) {
    table[nb::str(kernel.op.data(), kernel.op.size())] = nb::cast(names(kernel.variants));
  }
  return table;
}

}  // namespace
}  // namespace forge

NB_MODULE(_native, m) {
  m.doc() = "Kernels of Forge-UGC in C++; forge_ugc.native wraps them with types and errors.";
  m.def("cpu_isa", [] { return forge::names(forge::cpu_isa_ladder()); });
  m.def("isa_cap", [] { return std::string(forge::isa_name(forge::isa_cap())); });
  m.def("kernel_table", &forge::kernel_table);
  m.def("rms_norm", &forge::rms_norm, nb::arg("x").noconvert(), nb::arg("w").noconvert().none(),
        nb::arg("eps"), nb::arg("out").noconvert(), nb::arg("isa").none() = nb::none());
}
