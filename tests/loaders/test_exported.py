import pytest
import torch

from forge_ugc.capture import capture
from forge_ugc.errors import ArtifactError, OptionError
from forge_ugc.loaders import load_model


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(3, 2)

    def forward(self, x, *, scale, shift=None):
        return {"y": self.linear(x) * scale, "same": x}


@pytest.fixture
def net():
    torch.manual_seed(0)
    return Net(), (torch.randn(2, 3),), {"scale": torch.tensor(2.0)}


def test_round_trip_and_capture(tmp_path, net):
    module, args, kwargs = net
    exported = torch.export.export(module, args, kwargs)
    torch.export.save(exported, tmp_path / "net.pt2")
    loaded = load_model(str(tmp_path / "net.pt2"))
    with torch.no_grad():
        want, got = module(*args, **kwargs), loaded.module(*loaded.args, **loaded.kwargs)
    assert torch.equal(want["y"], got["y"])
    captured = capture(loaded.module, loaded.args, loaded.kwargs)
    assert captured.signature.names == ("x", "scale")
    assert captured.nodes_by_operator == {"aten.linear.default": 1, "aten.mul.Tensor": 1}


def test_faults(tmp_path):
    path = tmp_path / "bad.pt2"
    with pytest.raises(OptionError, match="there is no file"):
        load_model(str(path))
    path.write_bytes(b"nothing")
    with pytest.raises(ArtifactError, match="cannot read"):
        load_model(str(path))
    with pytest.raises(OptionError, match=r"layers=1 does not apply to the exported program"):
        load_model(str(path), layers=1)
