// graph: what a design derives from, and how the host runs it.
#pragma once

#include <cstddef>
#include <vector>

#include "aiesim/constraints.h"
#include "aiesim/plio.h"

namespace aiesim {

void graph_init(GraphNode* graph);
// Adds iterations to every kernel of the graph; negative: without end.
void graph_run(GraphNode* graph, long iterations);
void graph_wait(GraphNode* graph);
// Lets the graph run for so many cycles more.
void graph_wait_cycles(GraphNode* graph, unsigned long cycles);
void graph_end(GraphNode* graph);
void parameter_update(PortNode* port, const void* value, std::size_t bytes);
void parameter_read(PortNode* port, void* value, std::size_t bytes);

}  // namespace aiesim

namespace adf {

class graph {
 public:
  graph() : node_(aiesim::new_graph()) {}
  virtual ~graph() = default;

  return_code init() {
    aiesim::graph_init(node_);
    return return_code::ok;
  }
  return_code run() { return run(-1); }
  return_code run(int iterations) {
    aiesim::graph_run(node_, iterations);
    return return_code::ok;
  }
  return_code wait() {
    aiesim::graph_wait(node_);
    return return_code::ok;
  }
  return_code wait(unsigned long cycles) {
    aiesim::graph_wait_cycles(node_, cycles);
    return return_code::ok;
  }
  return_code resume() { return return_code::ok; }
  return_code end() {
    aiesim::graph_end(node_);
    return return_code::ok;
  }
  return_code end(unsigned long cycles) {
    aiesim::graph_wait_cycles(node_, cycles);
    aiesim::graph_end(node_);
    return return_code::ok;
  }

  template <class T, direction D>
  return_code update(const port<D>& p, T value) {
    aiesim::parameter_update(p.node(), &value, sizeof(T));
    return return_code::ok;
  }
  template <class T, direction D>
  return_code update(const port<D>& p, const T* values, std::size_t count) {
    aiesim::parameter_update(p.node(), values, sizeof(T) * count);
    return return_code::ok;
  }
  template <class T, direction D>
  return_code read(const port<D>& p, T& value) {
    aiesim::parameter_read(p.node(), &value, sizeof(T));
    return return_code::ok;
  }
  template <class T, direction D>
  return_code read(const port<D>& p, T* values, std::size_t count) {
    aiesim::parameter_read(p.node(), values, sizeof(T) * count);
    return return_code::ok;
  }

 private:
  aiesim::GraphNode* node_;
};

}  // namespace adf
