// Measurements of the machine for Python.
#include "probe/probe.h"

#include <nanobind/stl/string.h>

#include <string>

#include "bindings/arrays.h"
#include "bindings/module.h"

namespace forge {
namespace {

nb::list probe_loops() {
  nb::list made;
  for (const ComputeProbe& probe : compute_probes()) {
    if (probe.isa > cpu_isa()) continue;
    made.append(nb::make_tuple(std::string(probe.precision), std::string(isa_name(probe.isa))));
  }
  return made;
}

double probe_compute(const std::string& precision, const std::string& isa, unsigned threads,
                     double seconds) {
  require(threads >= 1, "threads is 0, expected at least 1");
  for (const ComputeProbe& probe : compute_probes()) {
    if (probe.precision != precision || isa_name(probe.isa) != isa) continue;
    require(probe.isa <= cpu_isa(), "this processor has no " + isa);
    const nb::gil_scoped_release unlocked;
    return measure_compute(probe, threads, seconds);
  }
  throw nb::value_error(("no loop measures " + precision + " on " + isa).c_str());
}

template <auto kMeasure>
double on_threads(unsigned threads, double seconds) {
  require(threads >= 1, "threads is 0, expected at least 1");
  const nb::gil_scoped_release unlocked;
  return kMeasure(threads, seconds);
}

double probe_read(unsigned threads, std::size_t bytes, double seconds) {
  require(threads >= 1, "threads is 0, expected at least 1");
  const nb::gil_scoped_release unlocked;
  return measure_read(threads, bytes, seconds);
}

}  // namespace

void bind_probe(nb::module_& m) {
  m.def("probe_loops", &probe_loops);
  m.def("probe_compute", &probe_compute, nb::arg("precision"), nb::arg("isa"), nb::arg("threads"),
        nb::arg("seconds"));
  m.def("probe_read", &probe_read, nb::arg("threads"), nb::arg("bytes"), nb::arg("seconds"));
  m.def("probe_barrier", &on_threads<measure_barrier>, nb::arg("threads"), nb::arg("seconds"));
  m.def("probe_call", &on_threads<measure_call>, nb::arg("threads"), nb::arg("seconds"));
}

}  // namespace forge
