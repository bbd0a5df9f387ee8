"""Every pass is one file of its name, has a test of that name and a place in the pipeline."""

import inspect
from pathlib import Path

import pytest

from forge_ugc.errors import InternalError, OptionError
from forge_ugc.passes.base import (
    _REGISTRY,
    GraphPass,
    RewritePass,
    build,
    graph_pass,
    registered,
)
from forge_ugc.passes.pipelines import AFTER_PRECISION, DEFAULT, PRECISION


@pytest.mark.parametrize("name", registered())
def test_a_pass_is_one_file_with_one_test(name):
    module = inspect.getmodule(registered()[name])
    stem = name.replace("-", "_")
    assert Path(module.__file__).stem == stem
    assert (Path(__file__).parent / f"test_{stem}.py").exists()
    assert registered()[name].__doc__


def test_the_default_pipeline_names_every_pass_once():
    assert sorted((*DEFAULT, PRECISION)) == sorted(registered())
    assert set(AFTER_PRECISION) <= set(DEFAULT)


def test_rewrites_have_names_of_their_own():
    names = [
        rewrite.name
        for cls in registered().values()
        if issubclass(cls, RewritePass)
        for rewrite in cls.rewrites
    ]
    assert len(names) == len(set(names))
    assert not set(names) & set(registered())


def test_a_name_is_given_once():
    with pytest.raises(InternalError, match="two passes are called 'layout'"):
        graph_pass("layout")(type("Second", (GraphPass,), {}))


def test_an_unknown_pass_is_refused_with_the_known_ones():
    with pytest.raises(OptionError) as caught:
        build(["dead-cod"])
    assert caught.value.what == "no pass is called 'dead-cod'"
    assert "dead-code" in caught.value.fix


def test_a_pass_registered_after_the_first_look_up_is_found():
    registered()
    late = graph_pass("late")(type("Late", (GraphPass,), {"run": lambda *_: None}))
    try:
        assert registered()["late"] is late
        assert type(build(["late"])[0]) is late
    finally:
        del _REGISTRY["late"]
