// PLIO and GMIO: how data enters and leaves the array.
#pragma once

#include <cstddef>
#include <source_location>
#include <string>

#include "aiesim/connect.h"

namespace adf {

enum plio_type { plio_32_bits = 32, plio_64_bits = 64, plio_128_bits = 128 };

enum class return_code {
  ok = 0,
  user_error,
  aie_driver_error,
  xrt_error,
  internal_error,
  unsupported
};

}  // namespace adf

namespace aiesim {

struct PlioSpec {
  std::string name, file;
  unsigned bits = 32;
  double frequency_mhz = 0;
  bool hex = false;
};

IoNode* new_plio(IoKind kind, const PlioSpec& spec, Place place);

// Host side of a GMIO. Transfers are queued; wait lets the graph run until they are done.
void gmio_send(IoNode* io, const void* data, std::size_t bytes);
void gmio_receive(IoNode* io, void* data, std::size_t bytes);
void gmio_wait(IoNode* io);
void* gmio_malloc(std::size_t bytes);
void gmio_free(void* memory);

}  // namespace aiesim

namespace adf {

// Common base of what simulation::platform takes.
class IoAttr {
 public:
  IoAttr() = default;
  explicit IoAttr(aiesim::IoNode* node) : node_(node) {}
  aiesim::IoNode* node() const noexcept { return node_; }
  void bind(aiesim::IoNode* node) noexcept { node_ = node; }

 protected:
  aiesim::IoNode* node_ = nullptr;
};

class input_plio : public IoAttr {
 public:
  input_plio() = default;
  static input_plio create(std::string name, plio_type bits, std::string file,
                           double frequency_mhz = 0, bool hex = false) {
    return input_plio(aiesim::new_plio(aiesim::IoKind::plio_in,
                                       {name, file, unsigned(bits), frequency_mhz, hex}, {}));
  }
  static input_plio create(plio_type bits, std::string file, double frequency_mhz = 0,
                           bool hex = false) {
    return create("", bits, file, frequency_mhz, hex);
  }
  static input_plio create(std::string name, plio_type bits) { return create(name, bits, ""); }
  port_list<direction::out> out;

 private:
  explicit input_plio(aiesim::IoNode* node) : IoAttr(node), out(node->outputs, node->name) {}
};

class output_plio : public IoAttr {
 public:
  output_plio() = default;
  static output_plio create(std::string name, plio_type bits, std::string file,
                            double frequency_mhz = 0, bool hex = false) {
    return output_plio(aiesim::new_plio(aiesim::IoKind::plio_out,
                                        {name, file, unsigned(bits), frequency_mhz, hex}, {}));
  }
  static output_plio create(plio_type bits, std::string file, double frequency_mhz = 0,
                            bool hex = false) {
    return create("", bits, file, frequency_mhz, hex);
  }
  static output_plio create(std::string name, plio_type bits) { return create(name, bits, ""); }
  port_list<direction::in> in;

 private:
  explicit output_plio(aiesim::IoNode* node) : IoAttr(node), in(node->inputs, node->name) {}
};

// The older form: one object for both directions; simulation::platform decides.
class PLIO : public IoAttr {
 public:
  PLIO(std::string name, plio_type bits, std::string file, double frequency_mhz = 0,
       bool hex = false)
      : spec_{name, file, unsigned(bits), frequency_mhz, hex} {}
  PLIO(std::string name, std::string file) : spec_{name, file, 32, 0, false} {}
  const aiesim::PlioSpec& spec() const noexcept { return spec_; }

 private:
  aiesim::PlioSpec spec_;
};

class FileIO : public PLIO {
 public:
  explicit FileIO(std::string file) : PLIO(file, file) {}
  FileIO(std::string name, std::string file) : PLIO(name, file) {}
};

class GMIO : public IoAttr {
 public:
  GMIO(std::string name, std::size_t, std::size_t) : name_(std::move(name)) {}
  explicit GMIO(std::string name) : name_(std::move(name)) {}
  static void* malloc(std::size_t bytes) { return aiesim::gmio_malloc(bytes); }
  static void free(void* memory) { aiesim::gmio_free(memory); }

  return_code gm2aie_nb(const void* data, std::size_t bytes) {
    aiesim::gmio_send(use(aiesim::IoKind::gmio_in), data, bytes);
    return return_code::ok;
  }
  return_code gm2aie(const void* data, std::size_t bytes) {
    gm2aie_nb(data, bytes);
    return wait();
  }
  return_code aie2gm_nb(void* data, std::size_t bytes) {
    aiesim::gmio_receive(use(aiesim::IoKind::gmio_out), data, bytes);
    return return_code::ok;
  }
  return_code aie2gm(void* data, std::size_t bytes) {
    aie2gm_nb(data, bytes);
    return wait();
  }
  return_code wait() {
    aiesim::gmio_wait(node_);
    return return_code::ok;
  }
  // The node, made for the direction of its first use.
  aiesim::IoNode* use(aiesim::IoKind kind) {
    if (node_ == nullptr) {
      node_ = aiesim::new_io(kind, name_, {});
      aiesim::add_io_port(node_, kind == aiesim::IoKind::gmio_in ? direction::out : direction::in,
                          aiesim::PortKind::stream);
    }
    return node_;
  }

 protected:
  std::string name_;
};

class input_gmio : public GMIO {
 public:
  input_gmio() : GMIO("") {}
  static input_gmio create(std::string name, std::size_t = 64, std::size_t = 0) {
    return input_gmio(std::move(name));
  }
  static input_gmio create(std::size_t, std::size_t) { return input_gmio(std::string()); }
  port_list<direction::out> out;

 private:
  explicit input_gmio(std::string name) : GMIO(std::move(name)) {
    out = {use(aiesim::IoKind::gmio_in)->outputs, name_};
  }
};

class output_gmio : public GMIO {
 public:
  output_gmio() : GMIO("") {}
  static output_gmio create(std::string name, std::size_t = 64, std::size_t = 0) {
    return output_gmio(std::move(name));
  }
  static output_gmio create(std::size_t, std::size_t) { return output_gmio(std::string()); }
  port_list<direction::in> in;

 private:
  explicit output_gmio(std::string name) : GMIO(std::move(name)) {
    in = {use(aiesim::IoKind::gmio_out)->inputs, name_};
  }
};

namespace simulation {

// The first In objects are sources, the other Out ones sinks.
template <unsigned In, unsigned Out>
class platform {
 public:
  template <class... Io>
  explicit platform(Io*... ios) {
    static_assert(sizeof...(Io) == In + Out,
                  "a platform takes one object for each source and sink");
    unsigned number = 0;
    (add(ios, number++), ...);
  }
  std::deque<port<direction::out>> src;
  std::deque<port<direction::in>> sink;

 private:
  template <class Io>
  void add(Io* io, unsigned number) {
    const bool is_input = number < In;
    aiesim::IoNode* node;
    if constexpr (std::is_base_of_v<GMIO, Io>) {
      node = io->use(is_input ? aiesim::IoKind::gmio_in : aiesim::IoKind::gmio_out);
    } else {
      node = aiesim::new_plio(is_input ? aiesim::IoKind::plio_in : aiesim::IoKind::plio_out,
                              io->spec(), {});
      io->bind(node);
    }
    if (is_input) {
      src.emplace_back(node->outputs[0]);
    } else {
      sink.emplace_back(node->inputs[0]);
    }
  }
};

}  // namespace simulation

// Packets: a split sends each one where its header says, a merge takes whole ones in turn.
template <int Ways>
class pktsplit {
 public:
  pktsplit() = default;
  static pktsplit create() {
    return pktsplit(aiesim::new_io(aiesim::IoKind::split, "pktsplit", {}));
  }
  port_list<direction::in> in;
  port_list<direction::out> out;

 private:
  explicit pktsplit(aiesim::IoNode* node) {
    aiesim::add_io_port(node, direction::in, aiesim::PortKind::packet);
    for (int i = 0; i < Ways; ++i) {
      aiesim::add_io_port(node, direction::out, aiesim::PortKind::packet);
    }
    in = {node->inputs, node->name};
    out = {node->outputs, node->name};
  }
};

template <int Ways>
class pktmerge {
 public:
  pktmerge() = default;
  static pktmerge create() {
    return pktmerge(aiesim::new_io(aiesim::IoKind::merge, "pktmerge", {}));
  }
  port_list<direction::in> in;
  port_list<direction::out> out;

 private:
  explicit pktmerge(aiesim::IoNode* node) {
    for (int i = 0; i < Ways; ++i) {
      aiesim::add_io_port(node, direction::in, aiesim::PortKind::packet);
    }
    aiesim::add_io_port(node, direction::out, aiesim::PortKind::packet);
    in = {node->inputs, node->name};
    out = {node->outputs, node->name};
  }
};

}  // namespace adf
