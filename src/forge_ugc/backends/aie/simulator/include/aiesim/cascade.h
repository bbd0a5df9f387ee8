// Cascade ports of kernels: beats of accumulator lanes passed from tile to tile.
#pragma once

#include <cstddef>

namespace aiesim {

class BeatReader;  // runtime
class BeatWriter;  // runtime

// The host bytes of one beat at most: 8 lanes of 16 bytes, or 16 lanes of 8.
inline constexpr std::size_t cascade_beat_bytes = 128;

// The reading end. One beat is what the cascade moves in a cycle: 384 bits on AIE (8 acc48 lanes or
// 4 cacc48), 512 bits on AIE-ML; how the lanes are held on the host is the caller's.
class CascadeIn {
 public:
  CascadeIn() = default;
  CascadeIn(const CascadeIn&) = delete;
  CascadeIn& operator=(const CascadeIn&) = delete;

  // Takes one beat; blocks while there is none. Fails if the writer sent another number of bytes.
  void read(void* lanes, std::size_t bytes);
  void attach(BeatReader* reader) noexcept { reader_ = reader; }

 private:
  BeatReader* reader_ = nullptr;
};

// The writing end.
class CascadeOut {
 public:
  CascadeOut() = default;
  CascadeOut(const CascadeOut&) = delete;
  CascadeOut& operator=(const CascadeOut&) = delete;

  // Sends one beat of at most `cascade_beat_bytes`; blocks while the FIFOs are full.
  void write(const void* lanes, std::size_t bytes);
  void attach(BeatWriter* writer) noexcept { writer_ = writer; }

 private:
  BeatWriter* writer_ = nullptr;
};

// Cascade ports of the running kernel, for code that names no port (`get_scd`, `put_mcd`).
CascadeIn& cascade_in();
CascadeOut& cascade_out();

}  // namespace aiesim

template <class T>
struct input_cascade : aiesim::CascadeIn {
  using value_type = T;
};

template <class T>
struct output_cascade : aiesim::CascadeOut {
  using value_type = T;
};
