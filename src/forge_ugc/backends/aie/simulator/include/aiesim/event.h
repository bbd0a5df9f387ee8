// event: profiling calls of the host. They give the model's estimate, never host time.
#pragma once

#include "aiesim/plio.h"

namespace aiesim {

// What a handle counts: cycles between the first words of two ports, cycles of transfer of one
// port, or its words.
enum class Profile { start_difference, running_to_idle, start_to_bytes, running_count };

int profile_start(Profile what, const IoNode* first, const IoNode* second, long argument);
long long profile_read(int handle);

}  // namespace aiesim

namespace adf::event {

using handle = int;
inline constexpr handle invalid_handle = -1;

enum io_profiling_option {
  io_total_stream_running_to_idle_cycles,
  io_stream_start_to_bytes_transferred_cycles,
  io_stream_start_difference_cycles,
  io_stream_running_event_count
};

inline handle start_profiling(const IoAttr& io, io_profiling_option option, long argument = 0) {
  using aiesim::Profile;
  const Profile what = option == io_total_stream_running_to_idle_cycles ? Profile::running_to_idle
                       : option == io_stream_running_event_count        ? Profile::running_count
                                                                        : Profile::start_to_bytes;
  return aiesim::profile_start(what, io.node(), nullptr, argument);
}
inline handle start_profiling(const IoAttr& first, const IoAttr& second, io_profiling_option,
                              long argument = 0) {
  return aiesim::profile_start(aiesim::Profile::start_difference, first.node(), second.node(),
                               argument);
}
inline long long read_profiling(handle h) { return aiesim::profile_read(h); }
inline void stop_profiling(handle) {}

}  // namespace adf::event

// Code that includes adf.h at global scope calls it without adf.
namespace event = adf::event;
