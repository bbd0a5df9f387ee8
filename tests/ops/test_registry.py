"""Every operator is one file with its name, its test, and all of its parts."""

import inspect
from pathlib import Path

import pytest
import torch

import forge_ugc.errors
import forge_ugc.ops
from forge_ugc import backends
from forge_ugc.ops import Cost, registered
from forge_ugc.ops.core.op import op

FOLDER = Path(forge_ugc.ops.__file__).parent
FILES = sorted(p.stem for p in FOLDER.glob("*.py") if p.stem != "__init__")


def test_files_are_the_registered_operators():
    assert list(registered()) == FILES
    for name, cls in registered().items():
        assert Path(inspect.getfile(cls)).stem == name


@pytest.mark.parametrize("name", FILES)
def test_an_operator_has_a_test_and_all_of_its_parts(name):
    cls = registered()[name]
    assert (Path(__file__).parent / f"test_{name}.py").is_file()
    assert cls.__doc__
    hints = inspect.signature(cls.cost).return_annotation
    assert hints in {Cost, "Cost"}
    operands = list(inspect.signature(cls.infer).parameters)[1:]
    for part in (cls.eval, cls.cost):
        assert list(inspect.signature(part).parameters)[1:] == operands
    assert set(cls.inplace_operands) <= set(operands)
    assert [a.name for a in cls.overload()._schema.arguments][: len(operands)] == operands


@pytest.mark.parametrize("name", FILES)
def test_an_operator_runs_on_cpu_and_meta_tensors(name):
    qualified = f"forge::{name}"
    for key in ("CPU", "Meta"):
        assert torch._C._dispatch_has_kernel_for_dispatch_key(qualified, key)


def test_a_name_is_taken_once():
    with pytest.raises(forge_ugc.errors.InternalError, match="two operators are called 'linear'"):
        op("linear")(type("Other", (), {}))


def test_backends_are_folders_with_their_target_name():
    folder = Path(backends.__file__).parent
    found = sorted(p.parent.name for p in folder.glob("*/backend.py"))
    assert found == list(backends.registered())
