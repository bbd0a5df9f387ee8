"""FIFO depths where ways part and meet again."""

from dataclasses import replace

from aie_designs import chain, kernel, net, port

from forge_ugc.backends.aie.mapping.fifos import with_fifos


def depths(design):
    return {
        (n.source.node, s.node): words for n in with_fifos(design).nets for s, words in n.fifos()
    }


def stream(name, needed=0.1):
    return replace(port(name), needed=needed)


def two(name, first=0.1, second=0.1):
    return kernel(name, inputs=(stream("a", first), stream("b", second)))


def one(name, needed=0.1):
    return kernel(name, inputs=(stream("x", needed),))


def test_a_chain_needs_none():
    assert set(depths(chain(one("p"), one("q"))).values()) == {0}


def test_the_short_way_holds_what_the_long_way_is_behind():
    nets = [net("x", "p"), net("p", "q", "sum.0"), net("q", "sum.1"), net("sum", "y")]
    found = depths(chain(one("p"), one("q"), two("sum"), nets=nets))
    # q may read 2 x 0.1 ahead of what it writes, the sum needs 0.1 of it: 0.3 of 320 words.
    assert found["p", "sum"] == 96
    assert found["q", "sum"] == 32


def test_a_way_on_which_a_kernel_reads_everything_first_needs_an_iteration():
    nets = [net("x", "p"), net("p", "q", "sum.0"), net("q", "sum.1"), net("sum", "y")]
    found = depths(chain(one("p"), one("q", needed=1.0), two("sum"), nets=nets))
    assert found["p", "sum"] == 320
    assert found["q", "sum"] == 0


def test_what_is_read_first_never_waits():
    nets = [net("x", "p"), net("p", "q", "k"), net("q", "s.0"), net("k", "s.1"), net("s", "y")]
    found = depths(chain(one("p"), one("q"), one("k"), two("s", second=1.0), nets=nets))
    assert found["q", "s"] == 320
    assert found["k", "s"] == 0


def test_lags_before_the_parting_do_not_count():
    nets = [net("x", "whole"), net("whole", "q", "sum.0"), net("q", "sum.1"), net("sum", "y")]
    found = depths(chain(one("whole", needed=1.0), one("q"), two("sum"), nets=nets))
    assert found["whole", "sum"] == 96
