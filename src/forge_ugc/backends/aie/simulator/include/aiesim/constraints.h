// Properties and placement of kernels, ports and nets: source(k) = "k.cc" and its like.
#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "aiesim/connect.h"

namespace aiesim {

// Left of an assignment whose value has no bearing on the simulation.
struct Ignored {
  template <class T>
  Ignored& operator=(const T&) {
    return *this;
  }
  Ignored& operator=(const Ignored&) { return *this; }
  template <class T>
  Ignored& operator=(std::initializer_list<T>) {
    return *this;
  }
  Ignored() = default;
  Ignored(const Ignored&) = default;
};

// Left of an assignment that hands its value to a function of the node.
template <class Node, class Value, void (*Set)(Node*, const Value&)>
struct Property {
  Node* node;
  void operator=(const Value& value) { Set(node, value); }
};

inline KernelNode* created(const adf::kernel& k, const char* what) {
  if (k.node() == nullptr) {
    reject(std::string(what) + "(kernel) was used before kernel::create", {});
  }
  return k.node();
}

inline void set_source(KernelNode* k, const std::string& v) { k->source = v; }
inline void set_initialization(KernelNode* k, const std::string& v) { k->initialization = v; }
inline void set_ratio(KernelNode* k, const double& v) { k->runtime_ratio = v; }
inline void set_stack(KernelNode* k, const unsigned& v) { k->stack_bytes = v; }
inline void set_heap(KernelNode* k, const unsigned& v) { k->heap_bytes = v; }
inline void set_repetitions(KernelNode* k, const unsigned& v) { k->repetitions = v; }
inline void set_tile(KernelNode* k, const TilePlace& v) { k->tile = v; }
inline void set_fifo(NetNode* n, const unsigned& v) {
  if (n != nullptr) n->fifo_words = v;
}
inline void set_single(PortNode* p, const bool& v) { p->single_buffer = v; }

struct Dimensions {
  PortNode* node;
  void operator=(std::initializer_list<std::size_t> sizes) { set(sizes); }
  void operator=(const std::vector<unsigned>& sizes) { set(sizes); }

 private:
  template <class Sizes>
  void set(const Sizes& sizes) {
    node->elements = 1;
    for (std::size_t size : sizes) node->elements *= size;
  }
};

// bool that is assigned: single_buffer(port) = true; also bare single_buffer(port).
struct SingleBuffer {
  PortNode* node;
  explicit SingleBuffer(PortNode* p) : node(p) { p->single_buffer = true; }
  void operator=(bool value) { node->single_buffer = value; }
};

}  // namespace aiesim

namespace adf {

struct ratio;
struct stack;
struct heap;
struct fifo;
struct graph_placement;
struct dma;
struct interface_tile;

inline aiesim::Property<aiesim::KernelNode, std::string, aiesim::set_source> source(kernel& k) {
  return {aiesim::created(k, "source")};
}
inline aiesim::Ignored headers(kernel&) { return {}; }
inline aiesim::Property<aiesim::KernelNode, std::string, aiesim::set_initialization>
initialization_function(kernel& k) {
  return {aiesim::created(k, "initialization_function")};
}
template <class What>
aiesim::Property<aiesim::KernelNode, double, aiesim::set_ratio> runtime(kernel& k) {
  static_assert(std::is_same_v<What, ratio>, "runtime<ratio>(kernel) is what the simulator knows");
  return {aiesim::created(k, "runtime<ratio>")};
}
inline aiesim::Property<aiesim::KernelNode, unsigned, aiesim::set_stack> stack_size(kernel& k) {
  return {aiesim::created(k, "stack_size")};
}
inline aiesim::Property<aiesim::KernelNode, unsigned, aiesim::set_heap> heap_size(kernel& k) {
  return {aiesim::created(k, "heap_size")};
}
inline aiesim::Property<aiesim::KernelNode, unsigned, aiesim::set_repetitions> repetition_count(
    kernel& k) {
  return {aiesim::created(k, "repetition_count")};
}
template <class... Kinds>
aiesim::Property<aiesim::NetNode, unsigned, aiesim::set_fifo> fifo_depth(connect<Kinds...>& net) {
  return {net.node()};
}
template <class... Kinds>
aiesim::Property<aiesim::NetNode, unsigned, aiesim::set_fifo> fifo_depth(connect<Kinds...>&& net) {
  return {net.node()};
}
template <direction D>
aiesim::Dimensions dimensions(const port<D>& p) {
  return {p.node()};
}
template <direction D>
aiesim::SingleBuffer single_buffer(const port<D>& p) {
  return aiesim::SingleBuffer(p.node());
}
template <class T>
aiesim::Ignored num_buffers(const T&) {
  return {};
}
template <class T>
aiesim::Ignored linker_options(const T&) {
  return {};
}

// Places. Columns and rows of kernels give the length of routes; memory banks are not modelled.
struct location_constraint {
  int column = -1, row = -1;
  aiesim::KernelNode* kernel = nullptr;
  aiesim::NetNode* net = nullptr;
  unsigned fifo_words = 0;
  location_constraint() = default;
  location_constraint(int c, int r) : column(c), row(r) {}
  template <class T>
    requires(!std::is_arithmetic_v<T>)
  void operator=(const T& place) {
    if constexpr (std::is_base_of_v<location_constraint, T>) {
      column = place.column, row = place.row;
      if (kernel != nullptr && column >= 0) kernel->tile = {column, row};
      if (net != nullptr) net->fifo_words += place.fifo_words;
    }
  }
  location_constraint(const location_constraint&) = default;
  location_constraint& operator=(const location_constraint& place) {
    column = place.column, row = place.row;
    if (place.kernel != nullptr && place.kernel->tile.column >= 0) {
      column = place.kernel->tile.column, row = place.kernel->tile.row;
    }
    if (kernel != nullptr && column >= 0) kernel->tile = {column, row};
    return *this;
  }
  void operator=(std::initializer_list<location_constraint> places) {
    for (const location_constraint& place : places) {
      if (net != nullptr) net->fifo_words += place.fifo_words;
    }
  }
};
struct tile : location_constraint {
  tile(int c, int r) : location_constraint(c, r) {}
};
struct bank : location_constraint {
  bank(int, int, int) {}
};
struct address : location_constraint {
  address(int, int, int) {}
};
struct offset : location_constraint {
  explicit offset(int) {}
};
struct shim : location_constraint {
  explicit shim(int, int = 0) {}
};
struct memory_tile : location_constraint {
  memory_tile(int, int) {}
};
enum fifo_tile_type { aie_tile, shim_tile, mem_tile };
struct dma_fifo : location_constraint {
  dma_fifo(int, int, int, int, int bytes) { fifo_words = static_cast<unsigned>(bytes) / 4; }
};
struct ss_fifo : location_constraint {
  ss_fifo(int, int, int, int) { fifo_words = 16; }
};
enum area_group_type { aie_tile_group, shim_tile_group, memory_tile_group };
struct area_group : location_constraint {
  template <class... T>
  explicit area_group(const T&...) {}
};
struct relative_offset : location_constraint {
  template <class... T>
  explicit relative_offset(const T&...) {}
};

template <class What, class T>
location_constraint location(T& thing) {
  location_constraint where;
  if constexpr (std::is_same_v<What, kernel> && std::is_same_v<T, kernel>) {
    where.kernel = aiesim::created(thing, "location<kernel>");
  }
  if constexpr (std::is_same_v<What, fifo>) where.net = thing.node();
  return where;
}
template <class T>
location_constraint absolute(const T&) {
  return {};
}
template <class... T>
void not_equal(const T&...) {}
template <class... T>
bool is_isolated(const T&...) {
  return false;
}

}  // namespace adf
