// Loops that do nothing but what is to be measured; holds no code, since files of every instruction
// set include it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace forge {

// Arithmetic on registers alone, in enough independent chains to keep every unit busy. The value
// that comes back only keeps the compiler from dropping the work.
using ComputeLoop = float(std::size_t rounds) noexcept;

// Reads `bytes` bytes, a multiple of 4 KiB, 64-byte aligned, as `streams` (1, 2, 4 or 8) equal
// parts at once.
using ReadLoop = std::uint64_t(const std::byte* from, std::size_t bytes, unsigned streams) noexcept;

// A loop of one precision, and the additions plus multiplications of one round.
#define FORGE_COMPUTE_LOOP(isa, precision, name, operations) ComputeLoop name;
#define FORGE_READ_LOOP(isa, name) ReadLoop name;
#include "probe/loops.inc"
#undef FORGE_COMPUTE_LOOP
#undef FORGE_READ_LOOP

}  // namespace forge
