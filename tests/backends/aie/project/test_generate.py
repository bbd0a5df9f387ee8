"""The generated project: files, names, statements."""

import numpy as np
from aie_designs import chain, kernel, net, port
from aie_models import jet_tagger

from forge_ugc.backends.aie.design import Link
from forge_ugc.backends.aie.device import VCK190
from forge_ugc.backends.aie.pipeline import build
from forge_ugc.backends.aie.project.generate import project_files, write_project


def text_of(design, name):
    return project_files(design)[name]


def test_a_kernel_s_source():
    made = kernel(
        "embed", layer="embed", template="dense", comment="y = x @ w.T",
        config={"rows": 8, "multiplier": 70000, "shift": 3, "relu": True},
        arrays={"weights": np.array([1, -2], np.int8)},
        inputs=(port("x"),), outputs=(port("y"),),
    )  # fmt: skip
    assert text_of(chain(made), "kernels/embed.cc") == (
        """// Layer embed, kernel embed.
// y = x @ w.T
#include "forge_aie/dense.h"
#include "kernels.h"
#include "parameters/embed.h"

namespace {

struct embed_config {
  static constexpr unsigned rows = 8;
  static constexpr int32 multiplier = 70000;
  static constexpr int shift = 3;
  static constexpr bool relu = true;
  static constexpr const int8* weights = embed_weights;
};

}  // namespace

void embed(input_stream<int8>* x, output_stream<int8>* y) {
  forge_aie::dense<embed_config>(x, y);
}
"""
    )
    assert text_of(chain(made), "parameters/embed.h") == (
        """// Parameters of kernel embed, in the layout that forge_aie/dense.h describes.
#pragma once

#include <aie_api/aie.hpp>

alignas(aie::vector_decl_align) const int8 embed_weights[2] = {
    1, -2};
"""
    )


def test_a_kernel_that_is_put_together_from_functions():
    made = kernel(
        "row", template="sharded/rows", config={"Up.shift": 3, "rows": 8, "Up.relu": False},
        arrays={"Up.weights": np.array([1], np.int8)}, body=("dense<Config::Up, 1>(a, b);",),
    )  # fmt: skip
    source = text_of(chain(made), "kernels/row.cc")
    assert '#include "forge_aie/sharded/rows.h"' in source
    assert source[source.index("struct") :] == (
        """struct row_config {
  struct Up {
    static constexpr int shift = 3;
    static constexpr bool relu = false;
    static constexpr const int8* weights = row_Up_weights;
  };
  static constexpr unsigned rows = 8;
};

}  // namespace

void row(input_stream<int8>* x, output_stream<int8>* y) {
  using namespace forge_aie::sharded;
  using Config = row_config;
  forge_aie::set_modes();
  dense<Config::Up, 1>(a, b);
}
"""
    )


def test_connections():
    nets = [
        net("x", "a", "b.1", fifo_words=(0, 64)),
        net("a", "b", link=Link.BUFFER),
        net("b", "c", link=Link.CASCADE),
        net("c", "y"),
    ]
    a = kernel("a", outputs=(port("y", link=Link.BUFFER),))
    b = kernel(
        "b", inputs=(port("x", link=Link.BUFFER), port("z")),
        outputs=(port("y", link=Link.CASCADE),),
    )  # fmt: skip
    c = kernel("c", inputs=(port("x", link=Link.CASCADE),))
    design = chain(a, b, c, nets=nets)
    graph = text_of(design, "graph.h")
    body = graph[graph.index("void connect_kernels") :]
    assert body == (
        """void connect_kernels() {
    adf::connect<adf::stream>(x.out[0], a.in[0]);
    adf::connect<adf::stream> x_to_b(x.out[0], b.in[1]);
    adf::fifo_depth(x_to_b) = 64;
    adf::connect<>(a.out[0], b.in[0]);
    adf::dimensions(b.in[0]) = {1280};
    adf::dimensions(a.out[0]) = {1280};
    adf::connect<adf::cascade>(b.out[0], c.in[0]);
    adf::connect<adf::stream>(c.out[0], y.in[0]);
  }
};
"""
    )
    assert text_of(design, "kernels.h").splitlines()[5:] == [
        "void a(input_stream<int8>* x, adf::output_buffer<int8>& y);",
        "void b(adf::input_buffer<int8>& x, input_stream<int8>* z, output_cascade<acc48>* y);",
        "void c(input_cascade<acc48>* x, output_stream<int8>* y);",
    ]


def test_ports_have_the_clock_of_the_logic_in_megahertz():
    graph = text_of(chain(kernel("a")), "graph.h")
    assert 'adf::input_plio::create("x", adf::plio_128_bits, "", 312.5);' in graph


def test_a_project_is_whole_and_only_changes_what_differs(tmp_path):
    model, _ = jet_tagger(blocks=1, rows=16)
    design = build(
        model.program, model.tensors, device=VCK190, mapping="published", folder=tmp_path
    )
    assert len(list((tmp_path / "kernels").glob("*.cc"))) - 1 == len(design.kernels) == 30
    assert (tmp_path / "include/forge_aie/dense.h").is_file()
    graph = (tmp_path / "graph.h").read_text()
    assert "adf::location<adf::kernel>(embed) = adf::tile(0, 0);" in graph
    assert "`attention0_scores0`" in (tmp_path / "README.md").read_text()
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.*") if path.is_file()}
    (tmp_path / "kernels/left_over.cc").write_text("")
    assert write_project(design, tmp_path) == tmp_path / "graph.cpp"
    after = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.*") if path.is_file()}
    assert after == before
