"""Which blocks are candidates, and why others are not."""

import torch
from torch import nn

from forge_ugc.capture.block_candidates import find_blocks


class Block(nn.Module):
    def __init__(self, index, width=4, window=0):
        super().__init__()
        self.index, self.window = index, window
        self.up = nn.Linear(4, width)
        self.down = nn.Linear(width, 4)

    def forward(self, x):
        return x + self.down(self.up(x))


def found(*children, container=nn.ModuleList):
    module = nn.Module()
    module.layers = container(children) if container is nn.ModuleList else container(*children)
    blocks, alone = find_blocks(module)
    groups = {}
    for block in blocks:
        groups.setdefault(block.group, []).append(block.path)
    return list(groups.values()), {b.path: b.reason for b in alone}


def test_equal_blocks_are_a_group_and_their_index_is_found():
    module = nn.Module()
    module.layers = nn.ModuleList(Block(i) for i in range(3))
    blocks, alone = find_blocks(module)
    assert [b.path for b in blocks] == ["layers.0", "layers.1", "layers.2"]
    assert {b.group for b in blocks} == {0}
    assert all(b.indices == {"index"} for b in blocks)
    assert not alone


def test_other_sizes_and_settings_are_groups_of_their_own():
    groups, alone = found(*(Block(i, width=4 + 4 * (i % 2)) for i in range(4)), Block(4, 16))
    assert groups == [["layers.0", "layers.2"], ["layers.1", "layers.3"]]
    assert alone == {"layers.4": "it differs from layers.0 in up.weight (tensor)"}
    groups, _ = found(*(Block(i, window=i % 2) for i in range(4)))
    assert groups == [["layers.0", "layers.2"], ["layers.1", "layers.3"]]


def test_leaves_single_blocks_and_other_containers_are_none():
    assert found(nn.Linear(4, 4), nn.Linear(4, 4)) == ([], {})
    assert found(Block(0)) == ([], {})
    module = nn.Module()
    module.a, module.b = Block(0), Block(1)
    assert find_blocks(module) == ([], [])


def test_sequential_is_a_list_too():
    assert found(Block(0), nn.ReLU(), Block(1), container=nn.Sequential) == (
        [["layers.0", "layers.2"]], {},
    )  # fmt: skip


def test_one_module_in_several_places():
    shared = Block(0)
    groups, alone = found(shared, Block(1), shared, Block(2))
    assert groups == [["layers.1", "layers.3"]]
    assert alone["layers.0"] == "the same module object stands in several places"


def test_a_replaced_forward():
    changed = Block(2)
    changed.forward = lambda x: x
    groups, alone = found(Block(0), Block(1), changed)
    assert groups == [["layers.0", "layers.1"]]
    assert alone == {"layers.2": "its forward is replaced on the instance"}


def test_a_metaclass():
    class Meta(type):
        pass

    class Special(Block, metaclass=Meta):
        pass

    assert found(Special(0), Special(1))[1]["layers.0"] == "Special has a metaclass"


def test_memory_shared_with_the_rest():
    module = nn.Module()
    module.layers = nn.ModuleList(Block(i) for i in range(3))
    module.register_buffer("view", module.layers[1].up.weight.detach()[0])
    blocks, alone = find_blocks(module)
    assert [b.path for b in blocks] == ["layers.0", "layers.2"]
    assert [b.path for b in alone] == ["layers.1"]


def test_global_hooks_end_the_search():
    handle = torch.nn.modules.module.register_module_forward_hook(lambda *a: None)
    try:
        assert found(Block(0), Block(1)) == ([], {})
    finally:
        handle.remove()
