// Programs, frames and memory for Python.
#include "runtime/program.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <memory>
#include <utility>

#include "bindings/arrays.h"
#include "bindings/fields.h"
#include "bindings/module.h"
#include "runtime/recycler.h"

namespace forge {
namespace {

using Bytes = nb::ndarray<nb::pytorch, std::uint8_t, nb::ndim<1>, nb::device::cpu>;
using Times = nb::ndarray<std::int64_t, nb::ndim<3>, nb::c_contig, nb::device::cpu>;

std::size_t add_step(Program& program, const std::string& name, const nb::dict& values,
                     bool barrier, const std::optional<std::string>& isa) {
  const Kernel& kernel = kernel_of(name);
  std::vector<std::byte> args(kernel.args_bytes);
  std::vector<Relocation> relocations;
  fill_fields(kernel, values, args.data(), &relocations);
  return program.add(kernel, variant_of(kernel, isa).run, args, relocations, barrier);
}

// The kernel of every step by name, with the instruction set of the variant that runs.
nb::list kernels_of(const Program& program) {
  nb::list made;
  for (const Step& step : program.steps()) {
    std::string isa;
    for (const KernelVariant& variant : step.kernel->variants) {
      if (variant.run == step.run && isa.empty()) isa = isa_name(variant.isa);
    }
    made.append(nb::make_tuple(std::string(step.kernel->name), isa));
  }
  return made;
}

int run_frame(Frame& frame, std::size_t begin, std::size_t end, const Program& program,
              const std::vector<std::pair<unsigned, std::uintptr_t>>& externals,
              const std::optional<Times>& times) {
  require(begin <= end && end <= program.steps().size(), "the program has no such steps");
  if (times) {
    require(times->shape(0) == end - begin && times->shape(1) == program.threads() &&
                times->shape(2) == 3,
            "times has another shape than [steps, threads, 3]");
  }
  static_assert(sizeof(StepTimes) == 3 * sizeof(std::int64_t));
  const nb::gil_scoped_release unlocked;
  for (const auto& [index, address] : externals) {
    frame.bind(index, reinterpret_cast<std::byte*>(address));
  }
  return frame.run(begin, end, times ? reinterpret_cast<StepTimes*>(times->data()) : nullptr);
}

// A one-dimensional uint8 tensor on a block, which is handed on when the tensor dies.
Bytes tensor_on(Memory block, std::shared_ptr<Recycler> recycler) {
  struct Held {
    Memory block;
    std::shared_ptr<Recycler> recycler;
  };
  auto held = std::make_unique<Held>(Held{std::move(block), std::move(recycler)});
  std::byte* const data = held->block.data();
  const std::size_t bytes = held->block.bytes();
  nb::capsule owner(held.get(), [](void* pointer) noexcept {
    const std::unique_ptr<Held> taken(static_cast<Held*>(pointer));
    if (taken->recycler) taken->recycler->give_back(std::move(taken->block));
  });
  held.release();
  return Bytes(data, {bytes}, owner);
}

}  // namespace

void bind_program(nb::module_& m) {
  nb::class_<Program>(m, "Program", "Kernels in order, with their arguments.")
      .def(nb::init<unsigned, bool>(), nb::arg("threads"), nb::arg("pinned"))
      .def("add", &add_step, nb::arg("kernel"), nb::arg("values"), nb::arg("barrier"),
           nb::arg("isa").none() = nb::none())
      .def_prop_ro("threads", &Program::threads)
      .def_prop_ro("scratch_bytes", &Program::scratch_bytes)
      .def("__len__", [](const Program& p) { return p.steps().size(); })
      .def("kernels", &kernels_of)
      .def("barriers", [](const Program& p) {
        std::size_t count = 0;
        for (const Step& step : p.steps()) count += step.barrier ? 1 : 0;
        return count;
      });
  nb::class_<Frame>(m, "Frame", "The memory of one call at a time.")
      .def(
          "__init__",
          [](Frame* self, const Program& program, std::uintptr_t arena) {
            new (self) Frame(program, reinterpret_cast<std::byte*>(arena));
          },
          nb::arg("program"), nb::arg("arena"), nb::keep_alive<1, 2>())
      .def("run", &run_frame, nb::arg("begin"), nb::arg("end"), nb::arg("program"),
           nb::arg("externals"), nb::arg("times").none() = nb::none());
  nb::class_<Recycler>(m, "Recycler", "Memory of outputs that is used again.")
      .def(nb::new_([](std::size_t kept) { return std::make_shared<Recycler>(kept); }),
           nb::arg("kept"))
      .def("take", [](Recycler& recycler, std::size_t bytes) {
        return tensor_on(recycler.take(bytes), recycler.shared_from_this());
      });
  m.def("allocate", [](std::size_t bytes) { return tensor_on(Memory(bytes), nullptr); });
}

}  // namespace forge
