"""Names of kernels and ports."""

import pytest

from forge_ugc.backends.aie.mapping.names import Names


@pytest.mark.parametrize(
    ("wish", "name"),
    [
        ("dense_0", "dense_0"),
        ("encoder.layers.0.self_attn", "encoder_layers_0_self_attn"),
        ("0.fc", "layer_0_fc"),
        ("class", "layer_class"),
        ("a__b", "a_b"),
        ("größe", "gr_e"),
        ("", "layer"),
    ],
)
def test_wishes_become_identifiers(wish, name):
    assert Names().unique(wish) == name


def test_no_two_are_alike():
    names = Names()
    assert [names.unique(w) for w in ("fc", "fc", "fc_2", "fc")] == ["fc", "fc_2", "fc_2_2", "fc_3"]
