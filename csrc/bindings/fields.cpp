#include "bindings/fields.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <cstring>

#include "bindings/arrays.h"
#include "kernels/linear/linear.h"
#include "runtime/memory.h"
#include "runtime/thread_pool.h"

namespace forge {
namespace {

constexpr std::string_view kElements[] = {"none", "any", "f32", "bf16", "i8", "u8", "i32", "i64"};
constexpr std::string_view kKinds[] = {"input", "output", "size", "stride", "real", "integer"};

bool is_pointer(const Field& field) {
  return field.kind == FieldKind::input || field.kind == FieldKind::output;
}

template <typename T>
void write(std::byte* to, T value) {
  std::memcpy(to, &value, sizeof(T));
}

void write_pointer(std::byte* args, std::size_t offset, nb::handle value,
                   std::vector<Relocation>* relocations) {
  if (value.is_none()) return;
  if (relocations != nullptr && nb::isinstance<nb::tuple>(value)) {
    const auto parts = nb::borrow<nb::tuple>(value);
    relocations->push_back({offset, static_cast<Space>(nb::cast<unsigned>(parts[0])),
                            nb::cast<unsigned>(parts[1]), nb::cast<std::ptrdiff_t>(parts[2])});
    return;
  }
  write(args + offset, nb::cast<std::uintptr_t>(value));
}

std::size_t width_of(FieldKind kind) {
  return kind == FieldKind::real ? sizeof(float)
                                 : (kind == FieldKind::integer ? sizeof(int) : sizeof(std::size_t));
}

void write_one(const Field& field, std::size_t position, nb::handle value, std::byte* args,
               std::vector<Relocation>* relocations) {
  const std::size_t offset = field.offset + position * width_of(field.kind);
  switch (field.kind) {
    case FieldKind::input:
    case FieldKind::output:
      return write_pointer(args, offset, value, relocations);
    case FieldKind::size:
      return write(args + offset, nb::cast<std::size_t>(value));
    case FieldKind::stride:
      return write(args + offset, nb::cast<std::ptrdiff_t>(value));
    case FieldKind::real:
      return write(args + offset, nb::cast<float>(value));
    case FieldKind::integer:
      return write(args + offset, nb::cast<int>(value));
  }
}

void write_field(const Field& field, nb::handle value, std::byte* args,
                 std::vector<Relocation>* relocations) {
  if (field.count == 1) return write_one(field, 0, value, args, relocations);
  const std::string name(field.name);
  require(nb::isinstance<nb::list>(value), name + " takes a list");
  const auto items = nb::borrow<nb::list>(value);
  require(items.size() <= field.count, name + " has " + std::to_string(items.size()) +
                                           " elements, at most " + std::to_string(field.count) +
                                           " fit");
  for (std::size_t i = 0; i < items.size(); ++i) write_one(field, i, items[i], args, relocations);
}

nb::list fields_of(const std::string& name) {
  nb::list made;
  for (const Field& field : kernel_of(name).fields) {
    const std::string_view kind = kKinds[static_cast<std::size_t>(field.kind)];
    const std::string_view element = kElements[static_cast<std::size_t>(field.element)];
    made.append(nb::make_tuple(std::string(field.name), std::string(kind), std::string(element),
                               field.count));
  }
  return made;
}

// Runs `shares` shares, one after another, or on the threads of the process if `parallel`.
void run_kernel(const std::string& name, const nb::dict& values, unsigned shares, bool parallel,
                const std::optional<std::string>& isa) {
  require(shares >= 1, "shares is 0, expected at least 1");
  const Kernel& kernel = kernel_of(name);
  const KernelVariant& variant = variant_of(kernel, isa);
  std::vector<std::byte> args(kernel.args_bytes);
  fill_fields(kernel, values, args.data(), nullptr);
  Memory scratch;
  if (kernel.scratch_bytes != nullptr) {
    scratch = Memory(kernel.scratch_bytes(args.data(), shares));
    for (const Field& field : kernel.fields) {
      if (field.name == "scratch") write(args.data() + field.offset, scratch.data());
    }
  }
  const nb::gil_scoped_release unlocked;
  if (!parallel) {
    for (unsigned index = 0; index < shares; ++index) variant.run(args.data(), {index, shares});
    return;
  }
  struct Call {
    KernelFunction* run;
    const void* args;
  } call{variant.run, args.data()};
  process_pool(shares, false)
      .run(
          [](void* context, Share share, Barrier&) noexcept {
            const auto& given = *static_cast<const Call*>(context);
            given.run(given.args, share);
          },
          &call);
}

nb::dict kernel_table() {
  nb::dict table;
  for (const Kernel* kernel : all_kernels()) {
    std::vector<std::string> sets;
    for (const KernelVariant& variant : kernel->variants) {
      sets.emplace_back(isa_name(variant.isa));
    }
    table[nb::str(kernel->name.data(), kernel->name.size())] = nb::cast(sets);
  }
  return table;
}

}  // namespace

void fill_fields(const Kernel& kernel, const nb::dict& values, std::byte* args,
                 std::vector<Relocation>* relocations) {
  std::memset(args, 0, kernel.args_bytes);
  std::size_t used = 0;
  for (const Field& field : kernel.fields) {
    const nb::str name(field.name.data(), field.name.size());
    if (!values.contains(name)) {
      require(is_pointer(field),
              std::string(kernel.name) + " needs a value for " + std::string(field.name));
      continue;
    }
    ++used;
    try {
      write_field(field, values[name], args, relocations);
    } catch (const nb::cast_error&) {
      throw nb::value_error((std::string(kernel.name) + ": " + std::string(field.name) +
                             " cannot be " + nb::cast<std::string>(nb::repr(values[name])))
                                .c_str());
    }
  }
  if (used == values.size()) return;
  for (const auto& [key, value] : values) {
    const auto given = nb::cast<std::string>(key);
    bool known = false;
    for (const Field& field : kernel.fields) known |= field.name == given;
    require(known, std::string(kernel.name) + " has no field " + given);
  }
}

const Kernel& kernel_of(const std::string& name) {
  const Kernel* found = find_kernel(name);
  require(found != nullptr, "no kernel is called " + name);
  return *found;
}

const KernelVariant& variant_of(const Kernel& kernel, const std::optional<std::string>& isa) {
  if (!isa) return select_variant(kernel, isa_cap());
  const std::optional<Isa> wanted = isa_from_name(*isa);
  std::string known;
  for (const KernelVariant& variant : kernel.variants) {
    known.append(known.empty() ? "" : ", ").append(isa_name(variant.isa));
    if (!wanted || variant.isa != *wanted) continue;
    require(*wanted <= cpu_isa(), "this processor has no " + *isa + ", only " +
                                      std::string(isa_name(cpu_isa())) + " and less");
    return variant;
  }
  throw nb::value_error(
      (std::string(kernel.name) + ": no variant for '" + *isa + "', expected one of " + known)
          .c_str());
}

void bind_kernels(nb::module_& m) {
  m.def("kernel_table", &kernel_table);
  m.def("kernel_fields", &fields_of, nb::arg("name"));
  m.def("run_kernel", &run_kernel, nb::arg("name"), nb::arg("values"), nb::arg("shares"),
        nb::arg("parallel"), nb::arg("isa").none() = nb::none());
  m.def("linear_packed_bytes", &linear_packed_bytes, nb::arg("element_bytes"), nb::arg("columns"),
        nb::arg("depth"));
}

}  // namespace forge
