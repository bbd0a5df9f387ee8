#include <cstring>
#include <type_traits>

#include "kernels/gather/args.h"

namespace forge {
namespace {

constexpr std::size_t kInner = kGatherDims - 1;

// One run along the innermost loop.
struct Run {
  std::size_t index[kGatherDims];
  std::size_t count;
};

std::ptrdiff_t place(const Run& run, const std::ptrdiff_t* strides) noexcept {
  std::ptrdiff_t offset = 0;
  for (std::size_t dim = 0; dim < kGatherDims; ++dim) {
    offset += static_cast<std::ptrdiff_t>(run.index[dim]) * strides[dim];
  }
  return offset;
}

// An index's offset into x. False if it is out of range.
bool resolve(const Gather& a, std::size_t number, std::ptrdiff_t at,
             std::ptrdiff_t* offset) noexcept {
  std::int64_t id = a.ids_bytes[number] == 8 ? static_cast<const std::int64_t*>(a.ids[number])[at]
                                             : static_cast<const std::int32_t*>(a.ids[number])[at];
  const auto size = static_cast<std::int64_t>(a.axis_sizes[number]);
  if (id < 0 && a.from_end != 0) id += size;
  if (id < 0 || id >= size) return false;
  *offset += id * a.axis_strides[number];
  return true;
}

// The offset into x that all indices give together at one position of the loops.
bool resolve_all(const Gather& a, const std::ptrdiff_t* at, std::size_t inner,
                 std::ptrdiff_t* offset) noexcept {
  bool good = true;
  for (std::size_t k = 0; k < static_cast<std::size_t>(a.indices); ++k) {
    const std::ptrdiff_t step = a.ids_strides[k * kGatherDims + kInner];
    good &= resolve(a, k, at[k] + static_cast<std::ptrdiff_t>(inner) * step, offset);
  }
  return good;
}

void report(const Gather& a) noexcept { __atomic_store_n(a.status, a.step, __ATOMIC_RELAXED); }

struct Same {
  template <typename T>
  static T convert(T x) noexcept {
    return x;
  }
};

struct Widen {
  static std::uint32_t convert(std::uint16_t x) noexcept { return std::uint32_t{x} << 16; }
};

struct Narrow {
  static std::uint16_t convert(std::uint32_t x) noexcept {
    const std::uint32_t rounded = (x + 0x7fffu + (x >> 16 & 1u)) >> 16;
    const std::uint32_t quiet = x >> 16 | 0x40u;
    return static_cast<std::uint16_t>((x & 0x7fffffffu) > 0x7f800000u ? quiet : rounded);
  }
};

// All elements of a run from one place of x.
template <typename Conversion, typename To, typename From>
void copy_run(To* out, std::ptrdiff_t out_stride, const From* x, std::ptrdiff_t x_stride,
              std::size_t n) noexcept {
  if (out_stride == 1 && x_stride == 1) {
    if constexpr (std::is_same_v<To, From>) {
      std::memcpy(out, x, n * sizeof(To));
    } else {
      for (std::size_t i = 0; i < n; ++i) out[i] = Conversion::convert(x[i]);
    }
    return;
  }
  for (std::size_t i = 0; i < n; ++i, out += out_stride, x += x_stride) {
    *out = Conversion::convert(*x);
  }
}

template <typename Conversion, typename To, typename From>
void gather_run(const Gather& a, const Run& run) noexcept {
  To* out = static_cast<To*>(a.out) + place(run, a.out_strides);
  const From* const x = static_cast<const From*>(a.x);
  const std::ptrdiff_t base = place(run, a.x_strides);
  const std::ptrdiff_t x_stride = a.x_strides[kInner], out_stride = a.out_strides[kInner];
  std::ptrdiff_t at[kGatherIndices] = {};
  bool constant = true;
  for (std::size_t k = 0; k < static_cast<std::size_t>(a.indices); ++k) {
    at[k] = place(run, a.ids_strides + k * kGatherDims);
    constant &= a.ids_strides[k * kGatherDims + kInner] == 0;
  }
  if (constant) {
    std::ptrdiff_t offset = base;
    if (resolve_all(a, at, 0, &offset)) {
      return copy_run<Conversion>(out, out_stride, x + offset, x_stride, run.count);
    }
    report(a);
    for (std::size_t i = 0; i < run.count; ++i, out += out_stride) *out = To{};
    return;
  }
  for (std::size_t i = 0; i < run.count; ++i, out += out_stride) {
    std::ptrdiff_t offset = base + static_cast<std::ptrdiff_t>(i) * x_stride;
    const bool good = resolve_all(a, at, i, &offset);
    *out = good ? Conversion::convert(x[offset]) : To{};
    if (!good) report(a);
  }
}

template <typename Conversion, typename To, typename From>
void gather(const Gather& a, Share share) noexcept {
  // Shares meet at multiples of a cache line of the smallest elements.
  constexpr std::size_t kStep = 64;
  std::size_t total = 1;
  for (const std::size_t size : a.sizes) total *= size;
  const Range steps = split((total + kStep - 1) / kStep, share);
  const std::size_t end = steps.end * kStep < total ? steps.end * kStep : total;
  const std::size_t inner = a.sizes[kInner];
  Run run;
  for (std::size_t at = steps.begin * kStep; at < end; at += run.count) {
    std::size_t left = at;
    for (std::size_t dim = kGatherDims; dim-- > 0; left /= a.sizes[dim]) {
      run.index[dim] = left % a.sizes[dim];
    }
    run.count = inner - run.index[kInner];
    if (run.count > end - at) run.count = end - at;
    gather_run<Conversion, To, From>(a, run);
  }
}

}  // namespace

void gather_reference(const Gather& a, Share share) noexcept {
  switch (static_cast<GatherConversion>(a.conversion)) {
    case GatherConversion::bf16_to_f32:
      return gather<Widen, std::uint32_t, std::uint16_t>(a, share);
    case GatherConversion::f32_to_bf16:
      return gather<Narrow, std::uint16_t, std::uint32_t>(a, share);
    case GatherConversion::none:
      break;
  }
  switch (a.element_bytes) {
    case 1:
      return gather<Same, std::uint8_t, std::uint8_t>(a, share);
    case 2:
      return gather<Same, std::uint16_t, std::uint16_t>(a, share);
    case 4:
      return gather<Same, std::uint32_t, std::uint32_t>(a, share);
    default:
      return gather<Same, std::uint64_t, std::uint64_t>(a, share);
  }
}

}  // namespace forge
