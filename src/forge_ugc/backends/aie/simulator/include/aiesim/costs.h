// What operations cost on a tile, in cycles. Defaults and sources: backends/aie/cycles/costs.py,
// which also writes the file that overrides them.
#pragma once

#include <string_view>

namespace aiesim {

// Every figure is the number of cycles that an operation occupies one issue slot.
struct Costs {
  // A vector instruction: as many multiply-accumulates as the data path has, or one simple
  // operation on 512 bits.
  double vector_issue = 1;
  double load = 0.5;          // of 256 bits; two ports
  double store = 1;           // of 256 bits
  double unaligned_load = 1;  // of 256 bits: both ports, and an alignment network
  double move = 1;            // of 256 bits between registers
  // An element of a vector by a run-time index.
  double element_get = 14;
  double element_set = 27;
  // Scalar code around an element that is read to be computed with.
  double element_arithmetic = 14;
  double scalar_divide = 80;
  double scalar_sqrt = 100;
  // Lane reductions take one vector instruction for each halving.
  double reduce_step = 2;
  double srs = 1;  // shift-round-saturate of 8 wide or 16 narrow lanes
  double ups = 1;  // its opposite
  // Loops.
  double loop_prologue = 8;
  double pipeline_efficiency = 1;
  // From the last multiplication of a chain to its result in a vector register, where nothing hides
  // it.
  double chain_latency = 12;

  // Calls f(name, member) for every figure.
  template <class F>
  void each(F&& f) {
    f("vector_issue", vector_issue);
    f("load", load);
    f("store", store);
    f("unaligned_load", unaligned_load);
    f("move", move);
    f("element_get", element_get);
    f("element_set", element_set);
    f("element_arithmetic", element_arithmetic);
    f("scalar_divide", scalar_divide);
    f("scalar_sqrt", scalar_sqrt);
    f("reduce_step", reduce_step);
    f("srs", srs);
    f("ups", ups);
    f("loop_prologue", loop_prologue);
    f("pipeline_efficiency", pipeline_efficiency);
    f("chain_latency", chain_latency);
  }

  // Sets a figure by name; false if there is none of that name.
  bool set(std::string_view name, double value) {
    bool found = false;
    each([&](std::string_view known, double& figure) {
      if (known == name) figure = value, found = true;
    });
    return found;
  }
};

inline Costs current_costs;
inline Costs& costs() noexcept { return current_costs; }

}  // namespace aiesim
