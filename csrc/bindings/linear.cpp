#include "kernels/linear/linear.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bindings/arrays.h"
#include "bindings/module.h"
#include "bindings/variants.h"

namespace forge {
namespace {

constexpr std::align_val_t kAlignment{64};

struct AlignedDelete {
  void operator()(float* data) const noexcept { ::operator delete(data, kAlignment); }
};

// Weights in the layout of one variant, one after another along the columns of the product.
class PackedLinear {
 public:
  PackedLinear(const std::vector<Input>& weights, const std::optional<std::string>& isa)
      : row_(choose(linear_f32_table(), isa)), depth_(weights.front().shape(1)) {
    for (const Input& w : weights) columns_ += w.shape(0);
    constexpr std::size_t kMost = std::numeric_limits<std::ptrdiff_t>::max() / 64;
    if (depth_ != 0 && columns_ > kMost / depth_) throw std::bad_alloc();
    void* const memory = ::operator new(bytes(), kAlignment);
    data_.reset(static_cast<float*>(memory));
    const nb::gil_scoped_release unlocked;
    std::size_t first = 0;
    for (const Input& w : weights) {
      row_.function->pack({.w = w.data(),
                           .row_stride = w.stride(0),
                           .depth_stride = w.stride(1),
                           .rows = w.shape(0),
                           .depth = depth_,
                           .packed = data_.get(),
                           .first_column = first,
                           .columns = columns_},
                          {0, 1});
      first += w.shape(0);
    }
  }

  std::size_t columns() const { return columns_; }
  std::size_t depth() const { return depth_; }
  std::size_t bytes() const { return row_.function->packed_bytes(columns_, depth_); }
  Isa isa() const { return row_.isa; }
  const LinearF32Kernels& kernels() const { return *row_.function; }
  const float* data() const { return data_.get(); }

 private:
  KernelRow<const LinearF32Kernels> row_;
  std::size_t columns_ = 0;
  std::size_t depth_;
  std::unique_ptr<float, AlignedDelete> data_;
};

PackedLinear linear_pack(const std::vector<Input>& weights, const std::optional<std::string>& isa) {
  require(!weights.empty(), "no weight is given, expected at least one");
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const std::string name = "weight " + std::to_string(i) + " is " + shape_text(weights[i]);
    require(weights[i].ndim() == 2, name + ", expected two axes");
    const std::size_t depth = weights[0].shape(1);
    require(weights[i].shape(1) == depth,
            name + ", expected [*, " + std::to_string(depth) + "] as weight 0");
  }
  return PackedLinear(weights, isa);
}

std::string packed_text(const PackedLinear& packed) {
  return "[" + std::to_string(packed.columns()) + ", " + std::to_string(packed.depth()) + "]";
}

Activation activation_of(const std::string& name) {
  constexpr std::array<std::pair<std::string_view, Activation>, 5> kNames = {
      {{"none", Activation::none},
       {"relu", Activation::relu},
       {"gelu", Activation::gelu},
       {"gelu_tanh", Activation::gelu_tanh},
       {"silu", Activation::silu}}};
  std::string known;
  for (const auto& [text, activation] : kNames) {
    if (text == name) return activation;
    known.append(known.empty() ? "" : ", ").append(text);
  }
  throw nb::value_error(("activation is '" + name + "', expected one of " + known).c_str());
}

// Checks the operand of one value a column.
void check_bias(const std::optional<Input>& bias, const std::string& name,
                const PackedLinear& packed, const Output& out) {
  if (!bias) return;
  require(
      bias->ndim() == 1 && bias->shape(0) == packed.columns(),
      name + " is " + shape_text(*bias) + ", expected [" + std::to_string(packed.columns()) + "]");
  if (out.size() == 0) return;
  require_adjacent(*bias, name);
  require(!overlap(*bias, out), "out overlaps " + name);
}

void check_matrices(const Input& x, const PackedLinear& packed, const Output& out) {
  require(x.ndim() == 2 && x.shape(1) == packed.depth(),
          "x is " + shape_text(x) + ", expected [*, " + std::to_string(packed.depth()) +
              "] for packed weights of " + packed_text(packed));
  const bool fits =
      out.ndim() == 2 && out.shape(0) == x.shape(0) && out.shape(1) == packed.columns();
  require(fits, "out is " + shape_text(out) + ", expected [" + std::to_string(x.shape(0)) + ", " +
                    std::to_string(packed.columns()) + "]");
  if (x.size() != 0) require_adjacent(x, "x");
  if (out.size() == 0) return;
  require_adjacent(out, "out");
  require(has_distinct_elements(out), "two elements of out share one address");
  require(x.size() == 0 || !overlap(x, out), "out overlaps x");
}

void check_residual(const Input& residual, const Output& out) {
  const bool fits = residual.ndim() == 2 && residual.shape(0) == out.shape(0) &&
                    residual.shape(1) == out.shape(1);
  require(fits,
          "residual is " + shape_text(residual) + ", expected " + shape_text(out) + " as out");
  if (out.size() == 0) return;
  require_adjacent(residual, "residual");
  require(same_elements(residual, out) || !overlap(residual, out),
          "out overlaps residual without being residual");
}

LinearF32 arguments_of(const Input& x, const PackedLinear& packed, const std::optional<Input>& bias,
                       const std::string& activation, const Output& out) {
  LinearF32 made{};
  made.x = x.data();
  made.x_stride = x.size() == 0 ? 0 : x.stride(0);
  made.rows = x.shape(0);
  made.columns = packed.columns();
  made.depth = packed.depth();
  made.w = packed.data();
  made.bias = bias ? bias->data() : nullptr;
  made.activation = activation_of(activation);
  made.out = out.data();
  made.out_stride = out.size() == 0 ? 0 : out.stride(0);
  return made;
}

// Runs the shares one after another.
void run_shares(const PackedLinear& packed, const LinearF32& arguments, unsigned shares) {
  require(shares >= 1, "shares is 0, expected at least 1");
  const nb::gil_scoped_release unlocked;
  for (unsigned index = 0; index < shares; ++index) {
    packed.kernels().run(arguments, {index, shares});
  }
}

void linear(const Input& x, const PackedLinear& packed, const std::optional<Input>& bias,
            const std::optional<Input>& residual, const std::string& activation, const Output& out,
            unsigned shares) {
  check_matrices(x, packed, out);
  check_bias(bias, "bias", packed, out);
  if (residual) check_residual(*residual, out);
  LinearF32 arguments = arguments_of(x, packed, bias, activation, out);
  if (residual && out.size() != 0) {
    arguments.residual = residual->data();
    arguments.residual_stride = residual->stride(0);
  }
  run_shares(packed, arguments, shares);
}

void gated_linear(const Input& x, const PackedLinear& gate, const PackedLinear& up,
                  const std::optional<Input>& gate_bias, const std::optional<Input>& up_bias,
                  const std::string& activation, const Output& out, unsigned shares) {
  require(up.columns() == gate.columns() && up.depth() == gate.depth(),
          "up is " + packed_text(up) + ", expected " + packed_text(gate) + " as gate");
  require(up.isa() == gate.isa(), "up is packed for " + std::string(isa_name(up.isa())) +
                                      ", expected " + std::string(isa_name(gate.isa())) +
                                      " as gate");
  check_matrices(x, gate, out);
  check_bias(gate_bias, "gate_bias", gate, out);
  check_bias(up_bias, "up_bias", up, out);
  LinearF32 arguments = arguments_of(x, gate, gate_bias, activation, out);
  arguments.up = up.data();
  arguments.up_bias = up_bias ? up_bias->data() : nullptr;
  run_shares(gate, arguments, shares);
}

}  // namespace

void bind_linear(nb::module_& m) {
  nb::class_<PackedLinear>(m, "PackedLinear", "Weights in the layout of one variant of linear.")
      .def_prop_ro("shape",
                   [](const PackedLinear& p) { return nb::make_tuple(p.columns(), p.depth()); })
      .def_prop_ro("nbytes", &PackedLinear::bytes)
      .def_prop_ro("isa", [](const PackedLinear& p) { return std::string(isa_name(p.isa())); });
  m.def("linear_pack", &linear_pack, nb::arg("weights").noconvert(),
        nb::arg("isa").none() = nb::none());
  m.def("linear", &linear, nb::arg("x").noconvert(), nb::arg("packed"),
        nb::arg("bias").noconvert().none(), nb::arg("residual").noconvert().none(),
        nb::arg("activation"), nb::arg("out").noconvert(), nb::arg("shares"));
  m.def("gated_linear", &gated_linear, nb::arg("x").noconvert(), nb::arg("gate"), nb::arg("up"),
        nb::arg("gate_bias").noconvert().none(), nb::arg("up_bias").noconvert().none(),
        nb::arg("activation"), nb::arg("out").noconvert(), nb::arg("shares"));
}

}  // namespace forge
