#include "runtime/cpu_features.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <string>

#if defined(__x86_64__)
#include <cpuid.h>
#endif
#if defined(__x86_64__) && defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace forge {
namespace {

constexpr std::array<std::string_view, 6> kNames = {"none",        "avx2",        "avx512",
                                                    "avx512_vnni", "avx512_bf16", "amx"};

#if defined(__x86_64__)

struct CpuidRegisters {
  std::uint32_t eax = 0, ebx = 0, ecx = 0, edx = 0;
};

// All zero if the processor has no such leaf.
CpuidRegisters cpuid(std::uint32_t leaf, std::uint32_t subleaf) noexcept {
  CpuidRegisters r;
  __get_cpuid_count(leaf, subleaf, &r.eax, &r.ebx, &r.ecx, &r.edx);
  return r;
}

// The register files that the operating system saves on a context switch. Needs OSXSAVE.
std::uint64_t xcr0() noexcept {
  std::uint32_t low = 0, high = 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (static_cast<std::uint64_t>(high) << 32) | low;
}

constexpr std::uint32_t bit(int position) { return std::uint32_t{1} << position; }

constexpr bool has_all(std::uint64_t value, std::uint64_t wanted) {
  return (value & wanted) == wanted;
}

// Asks the system for the tile registers, which it gives to a process on request alone; threads
// that exist or start later have them too (Linux, Documentation/arch/x86/xstate.rst).
bool request_tiles() noexcept {
#if defined(__linux__)
  constexpr long kRequestPermission = 0x1023, kTileData = 18;
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
#else
  return false;
#endif
}

Isa detect() noexcept {
  constexpr std::uint32_t kFma = bit(12), kOsXsave = bit(27), kAvx = bit(28), kF16c = bit(29);
  constexpr std::uint32_t kAvx2 = bit(5), kBmi2 = bit(8);
  constexpr std::uint32_t kAvx512 = bit(16) | bit(17) | bit(28) | bit(30) | bit(31);
  constexpr std::uint32_t kVnni = bit(11), kBf16 = bit(5);
  constexpr std::uint32_t kTiles = bit(22) | bit(24) | bit(25);
  constexpr std::uint64_t kYmmState = 0x6, kZmmState = 0xe6, kTileState = 0x60000;

  const CpuidRegisters basic = cpuid(1, 0), extended = cpuid(7, 0);
  if (!has_all(basic.ecx, kFma | kOsXsave | kAvx | kF16c)) return Isa::none;
  const std::uint64_t saved = xcr0();
  if (!has_all(saved, kYmmState) || !has_all(extended.ebx, kAvx2 | kBmi2)) return Isa::none;
  if (!has_all(saved, kZmmState) || !has_all(extended.ebx, kAvx512)) return Isa::avx2;
  if (!has_all(extended.ecx, kVnni)) return Isa::avx512;
  // Subleaf 1 exists only if subleaf 0 says so in EAX.
  if (extended.eax < 1 || !has_all(cpuid(7, 1).eax, kBf16)) return Isa::avx512_vnni;
  if (!has_all(saved, kTileState) || !has_all(extended.edx, kTiles)) return Isa::avx512_bf16;
  return request_tiles() ? Isa::amx : Isa::avx512_bf16;
}

#else

Isa detect() noexcept { return Isa::none; }

#endif

Isa read_cap() {
  const char* text = std::getenv("FORGE_ISA");
  if (text == nullptr || *text == '\0') return cpu_isa();
  const std::optional<Isa> wanted = isa_from_name(text);
  if (!wanted) {
    std::string known;
    for (std::string_view name : kNames) known.append(known.empty() ? "" : ", ").append(name);
    throw std::invalid_argument("FORGE_ISA is '" + std::string(text) + "', expected one of " +
                                known);
  }
  return std::min(*wanted, cpu_isa());
}

}  // namespace

std::string_view isa_name(Isa isa) noexcept { return kNames[static_cast<std::size_t>(isa)]; }

std::optional<Isa> isa_from_name(std::string_view name) noexcept {
  const auto found = std::find(kNames.begin(), kNames.end(), name);
  if (found == kNames.end()) return std::nullopt;
  return static_cast<Isa>(found - kNames.begin());
}

Isa cpu_isa() noexcept {
  static const Isa detected = detect();
  return detected;
}

std::vector<Isa> cpu_isa_ladder() {
  std::vector<Isa> ladder;
  for (int rung = static_cast<int>(cpu_isa()); rung >= 0; --rung) {
    ladder.push_back(static_cast<Isa>(rung));
  }
  return ladder;
}

Isa isa_cap() {
  static const Isa cap = read_cap();
  return cap;
}

}  // namespace forge
