#include "kernels/rms_norm/rms_norm.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bindings/arrays.h"
#include "bindings/module.h"
#include "bindings/variants.h"

namespace forge {
namespace {

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
  RmsNormF32Kernel* const kernel = choose(rms_norm_f32_table(), isa).function;
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

}  // namespace

void bind_rms_norm(nb::module_& m) {
  m.def("rms_norm", &rms_norm, nb::arg("x").noconvert(), nb::arg("w").noconvert().none(),
        nb::arg("eps"), nb::arg("out").noconvert(), nb::arg("isa").none() = nb::none());
}

}  // namespace forge
