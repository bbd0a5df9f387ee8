"""Code that the simulator cannot take: what is said, and where it points."""

import pytest

from forge_ugc.errors import BackendUnavailableError, ForgeError, OptionError, SimulationError


def refused(run, fault, inputs=None):
    with pytest.raises(ForgeError) as caught:
        run("errors/graph.cpp", inputs or {"in.txt": "5\n"}, defines=[f"FAULT={fault}"])
    return caught.value


def test_an_input_file_that_does_not_exist(run, tmp_path):
    error = refused(run, 1)
    assert isinstance(error, OptionError)
    assert str(error) == (
        "PLIO in reads none.txt, which was not found\n"
        f"  why: it is in none of {tmp_path}/in, {tmp_path}\n"
        "  fix: give the folder with data_dir or --data"
    )


def test_a_source_that_does_not_exist(run):
    error = refused(run, 2)
    assert isinstance(error, OptionError)
    assert error.what == "the kernel source nowhere.cc was not found"
    assert error.where == "errors/graph.cpp:27"
    assert error.fix == "give its folder with include_dirs or -I"


def test_a_kernel_without_a_source(run):
    error = refused(run, 3)
    assert isinstance(error, OptionError)
    assert str(error) == (
        "kernel 0 has no source\n"
        "  at: errors/graph.cpp:27\n"
        "  why: nothing defines pass(input_stream<int>*, output_stream<int>*)\n"
        '  fix: source(k) = "file.cc" in the constructor of the graph'
    )


def test_a_name_of_the_api_that_is_not_known(run):
    error = refused(run, 4)
    assert isinstance(error, SimulationError)
    assert str(error) == (
        "the simulator does not know adf::no_such_property\n"
        "  at: errors/graph.cpp:31\n"
        "  why: g++: 'no_such_property' is not a member of 'adf'\n"
        "  fix: docs/aie-simulator.md lists what is modelled; an #ifdef __X86SIM__ branch can "
        "stand in for the rest"
    )


def test_a_port_that_is_not_connected(run):
    error = refused(run, 5)
    assert str(error) == "pass.out[0] is not connected\n  at: errors/graph.cpp:27"


def test_a_buffer_of_unknown_size(run):
    error = refused(run, 6)
    assert error.what == (
        "the size of the buffer window_pass.in[0] is not known; give dimensions(k.in[0]) = "
        "{elements}, or extents in its signature"
    )


def test_a_port_that_does_not_exist(run):
    assert str(refused(run, 7)) == (
        "the graph cannot be constructed\n  why: kernel 0 has 1 'out' port(s), but out[1] was used"
    )


def test_an_initialization_function_that_does_not_exist(run):
    error = refused(run, 8)
    assert error.what == "the initialization function start was not found"
    assert error.why == "pass.cc defines no function of that name"


def test_a_parameter_type_that_is_not_known(run):
    error = refused(run, 9)
    assert error.what == "g++ cannot compile graph.cpp"
    assert error.where == "errors/graph.cpp:23"
    assert error.why == (
        "the simulator does not know this parameter type of a kernel; known are pointers to "
        "streams, windows and cascades, references to buffers, and run-time parameters"
    )


def test_a_header_that_does_not_exist(run):
    assert str(refused(run, 11)) == (
        "pass.cc includes absent.h, which was not found\n"
        "  at: errors/pass.cc:4\n"
        "  why: it is neither part of the simulator nor in the include folders\n"
        "  fix: give its folder with include_dirs or -I"
    )


def test_a_function_of_the_kernel_api_that_is_not_known(run):
    error = refused(run, 12)
    assert error.what == "the simulator does not know readincr_twice"
    assert error.where == "errors/pass.cc:9"


def test_no_compiler(run, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(BackendUnavailableError) as caught:
        run("streams/graph.cpp")
    assert str(caught.value) == (
        "the AI Engine simulator needs g++, which is not on this machine\n"
        f"  why: it is not on the PATH: {tmp_path}\n"
        "  fix: install g++ 11 or newer with binutils, such as `apt install g++`"
    )
