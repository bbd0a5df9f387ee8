"""Compares a compiled model with eager: results, inputs after the call, and a saved copy of it."""

import copy

import torch
from torch.utils import _pytree as pytree

import forge_ugc


def same(got, want, rtol, atol):
    """Equal nesting, dtypes, shapes and values; NaN equals NaN."""
    got_leaves, got_spec = pytree.tree_flatten(got)
    want_leaves, want_spec = pytree.tree_flatten(want)
    assert got_spec == want_spec
    for one, other in zip(got_leaves, want_leaves, strict=True):
        if isinstance(other, torch.Tensor):
            torch.testing.assert_close(one, other, rtol=rtol, atol=atol, equal_nan=True)
        else:
            assert one == other


def agrees(module, *calls, rtol=1e-4, atol=1e-5, tmp_path=None):
    """Compiled for the first of `calls`, the model gives what eager gives in all of them."""
    module = module.eval()
    eager = copy.deepcopy(module)
    compiled = forge_ugc.compile(module, copy.deepcopy(calls[0]))
    models = [compiled]
    if tmp_path is not None:
        compiled.save(tmp_path / "model.forge")
        models.append(forge_ugc.load(tmp_path / "model.forge"))
    for arguments in calls:
        given = copy.deepcopy(arguments)
        with torch.no_grad():
            want = eager(*given)
        for model in models:
            mine = copy.deepcopy(arguments)
            same(model(*mine), want, rtol, atol)
            same(mine, given, rtol, atol)
