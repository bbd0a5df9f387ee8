// The graph as its constructors describe it: kernels, ports, nets and what is known about them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "aiesim/buffer.h"
#include "aiesim/cascade.h"
#include "aiesim/stream.h"

namespace aiesim {

struct KernelNode;
struct IoNode;
struct GraphNode;

// What one sample of a port is, for the text files of PLIO.
enum class Element : std::uint8_t {
  none,
  i8,
  u8,
  i16,
  u16,
  i32,
  u32,
  i64,
  u64,
  ci16,
  ci32,
  f32,
  cf32,
  bf16,
  opaque
};

enum class PortKind : std::uint8_t { none, stream, packet, buffer, window, cascade, parameter };

// Where the user wrote it.
struct Place {
  const char* file = "";
  unsigned line = 0;
};

// A value that the host and a kernel exchange.
struct ParameterSlot {
  void* value = nullptr;  // the kernel's copy
  std::size_t bytes = 0;
};

struct PortNode {
  adf::direction direction = adf::direction::in;
  PortKind kind = PortKind::none;
  Element element = Element::none;
  std::size_t element_bytes = 0;
  std::size_t elements = 0;         // of a buffer; 0 while the graph has not said
  std::size_t margin_elements = 0;  // of a buffer
  bool async = false;               // locked by the kernel; a parameter keeps its last value
  bool sync_forced = false;         // sync(port)
  bool single_buffer = false;
  KernelNode* kernel = nullptr;
  IoNode* io = nullptr;
  GraphNode* graph = nullptr;
  unsigned number = 0;  // among the inputs, outputs or inouts of its owner
  Place place;
  // The kernel's argument; which one is set follows from kind and direction.
  StreamIn* stream_in = nullptr;
  StreamOut* stream_out = nullptr;
  CascadeIn* cascade_in = nullptr;
  CascadeOut* cascade_out = nullptr;
  BufferPort* buffer = nullptr;
  ParameterSlot parameter;
};

// How a net was spelled: connect<window<N, M>> and the like; 0 where it says nothing.
struct Transport {
  PortKind kind = PortKind::none;
  std::size_t bytes = 0;
  std::size_t margin_bytes = 0;
};

struct NetNode {
  PortNode* from = nullptr;
  PortNode* to = nullptr;
  Transport source, sink;
  std::size_t fifo_words = 0;
  Place place;
};

// Calls the kernel: made for its signature by kernel::create.
class Invoker {
 public:
  virtual ~Invoker() = default;
  // Adds the ports of the signature to the node.
  virtual void describe(KernelNode& node) = 0;
  // Makes the object of a kernel class; does nothing for functions.
  virtual void construct() {}
  // One invocation; `function` overrides the function that was given to create.
  virtual void invoke(void* function) = 0;
  virtual const void* function() const noexcept = 0;
};

struct TilePlace {
  int column = -1, row = -1;
};

struct KernelNode {
  unsigned number = 0;  // in the order of creation
  std::string name;     // given by the loader: the function's
  std::unique_ptr<Invoker> invoker;
  std::vector<PortNode*> inputs, outputs, inouts;
  std::string source, initialization;
  double runtime_ratio = 0;
  std::size_t stack_bytes = 0, heap_bytes = 0;
  unsigned repetitions = 1;
  TilePlace tile;
  GraphNode* graph = nullptr;
  Place place;
};

enum class IoKind : std::uint8_t { plio_in, plio_out, gmio_in, gmio_out, split, merge };

struct IoNode {
  IoKind kind = IoKind::plio_in;
  std::string name, file;
  unsigned bits = 32;
  double frequency_mhz = 0;  // 0: a quarter of the array's clock
  bool hex = false;
  std::vector<PortNode*> inputs, outputs;
  GraphNode* graph = nullptr;
  Place place;
  void* engine = nullptr;  // the runtime's side of a GMIO
};

struct GraphNode {
  unsigned kernels_before = 0;  // number of kernels that existed when it was constructed
  bool initialized = false;
};

// Everything that was constructed, in order. Never freed: handles point into it.
struct Model {
  std::vector<KernelNode*> kernels;
  std::vector<IoNode*> ios;
  std::vector<NetNode*> nets;
  std::vector<PortNode*> ports;
  std::vector<GraphNode*> graphs;
};

Model& model();
KernelNode* new_kernel(std::unique_ptr<Invoker> invoker, Place place);
IoNode* new_io(IoKind kind, std::string name, Place place);
PortNode* new_port(adf::direction direction);
NetNode* new_net(PortNode* from, PortNode* to, Transport source, Transport sink, Place place);
GraphNode* new_graph();
PortNode* add_io_port(IoNode* io, adf::direction direction, PortKind kind);

// Ends the run: what the graph says cannot be simulated.
[[noreturn]] void reject(const std::string& what, Place place);

}  // namespace aiesim
