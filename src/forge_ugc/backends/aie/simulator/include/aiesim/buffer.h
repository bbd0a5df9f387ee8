// Buffer ports of kernels: blocks of tile memory that change hands by locks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace aiesim {

class BlockReader;  // runtime
class BlockWriter;  // runtime

// A block that the kernel holds between acquire and release. The margin (the last bytes of the
// block before) comes first, then the block.
class BufferPort {
 public:
  BufferPort() = default;
  BufferPort(const BufferPort&) = delete;
  BufferPort& operator=(const BufferPort&) = delete;

  void acquire();
  void release();
  bool held() const noexcept { return begin_ != nullptr; }
  // First byte of margin and block, aligned to 64 bytes; fails while the block is not held.
  std::byte* bytes_begin() const {
    if (begin_ == nullptr) not_held();
    return begin_;
  }
  // Bytes of margin and block together.
  std::size_t bytes_total() const noexcept { return margin_bytes_ + size_bytes_; }
  std::size_t margin_bytes() const noexcept { return margin_bytes_; }
  std::size_t size_bytes() const noexcept { return size_bytes_; }

  void attach(BlockReader* reader, std::size_t size_bytes, std::size_t margin_bytes) noexcept;
  void attach(BlockWriter* writer, std::size_t size_bytes) noexcept;

 private:
  [[noreturn]] void not_held() const;

  BlockReader* reader_ = nullptr;
  BlockWriter* writer_ = nullptr;
  std::byte* begin_ = nullptr;
  std::size_t size_bytes_ = 0;
  std::size_t margin_bytes_ = 0;
};

}  // namespace aiesim

namespace adf {

// An extent that the graph gives with dimensions(port).
inline constexpr std::uint32_t inherited_extent = 0xffffffffu;

template <std::uint32_t... Sizes>
struct extents {
  static constexpr bool is_inherited = ((Sizes == inherited_extent) || ... || false);
  // Elements of all dimensions; 0 if the graph gives them.
  static constexpr std::size_t elements = is_inherited ? 0 : (std::size_t{1} * ... * Sizes);
};

// Elements of the block before that come ahead of a block.
template <std::uint32_t Elements>
struct margin {
  static constexpr std::size_t elements = Elements;
};

enum class direction { in, out, inout };

// A buffer of a kernel's signature. Locked around each invocation, or by the kernel if `Async`.
template <class T, direction D, class Extents, class Margin, bool Async, bool Circular>
class io_buffer : public aiesim::BufferPort {
 public:
  using value_type = T;
  using extents_type = Extents;
  using margin_type = Margin;
  static constexpr direction direction_value = D;
  static constexpr bool is_async = Async;
  static constexpr bool is_circular = Circular;

  // First element of margin and block.
  T* data() const { return reinterpret_cast<T*>(bytes_begin()); }
  // Elements of margin and block together.
  std::size_t size() const noexcept { return bytes_total() / sizeof(T); }
};

template <class T, class Extents = extents<inherited_extent>, class Margin = margin<0>>
using input_buffer = io_buffer<T, direction::in, Extents, Margin, false, false>;
template <class T, class Extents = extents<inherited_extent>, class Margin = margin<0>>
using input_async_buffer = io_buffer<T, direction::in, Extents, Margin, true, false>;
template <class T, class Extents = extents<inherited_extent>, class Margin = margin<0>>
using input_circular_buffer = io_buffer<T, direction::in, Extents, Margin, false, true>;
template <class T, class Extents = extents<inherited_extent>, class Margin = margin<0>>
using input_async_circular_buffer = io_buffer<T, direction::in, Extents, Margin, true, true>;
template <class T, class Extents = extents<inherited_extent>, class Margin = margin<0>>
using output_buffer = io_buffer<T, direction::out, Extents, Margin, false, false>;
template <class T, class Extents = extents<inherited_extent>, class Margin = margin<0>>
using output_async_buffer = io_buffer<T, direction::out, Extents, Margin, true, false>;
template <class T, class Extents = extents<inherited_extent>, class Margin = margin<0>>
using output_circular_buffer = io_buffer<T, direction::out, Extents, Margin, false, true>;
template <class T, class Extents = extents<inherited_extent>, class Margin = margin<0>>
using output_async_circular_buffer = io_buffer<T, direction::out, Extents, Margin, true, true>;

}  // namespace adf

using adf::input_async_buffer;
using adf::input_async_circular_buffer;
using adf::input_buffer;
using adf::input_circular_buffer;
using adf::output_async_buffer;
using adf::output_async_circular_buffer;
using adf::output_buffer;
using adf::output_circular_buffer;
