// Instruction sets: what the processor has, what the operating system enabled, what the user
// allows.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

namespace forge {

// A ladder: a processor with one rung has every rung below it. `none` is portable C++.
//   avx2         AVX2, FMA, F16C, BMI2
//   avx512       AVX-512 F, BW, CD, DQ, VL (all that Skylake-X has) on top of avx2
//   avx512_vnni  8-bit dot products on top of avx512
//   avx512_bf16  bfloat16 dot products on top of avx512_vnni
//   amx          tiles, with bfloat16 and 8-bit products, on top of avx512_bf16; the system has
//                granted this process their use
enum class Isa : int { none, avx2, avx512, avx512_vnni, avx512_bf16, amx };

// The name that FORGE_ISA and the Python API use.
std::string_view isa_name(Isa isa) noexcept;

// The rung with that name; nothing if there is none.
std::optional<Isa> isa_from_name(std::string_view name) noexcept;

// The highest rung that this processor executes and whose registers the operating system saves.
// Asked once, by CPUID leaves 1 and 7 and by XGETBV (Intel SDM volume 1, section 13.3 and 15.2).
Isa cpu_isa() noexcept;

// The rungs from cpu_isa() down to none.
std::vector<Isa> cpu_isa_ladder();

// The highest rung that may be selected: cpu_isa(), or less if the environment variable FORGE_ISA
// says so. Reads the environment once. Throws std::invalid_argument on an unknown name.
Isa isa_cap();

}  // namespace forge
