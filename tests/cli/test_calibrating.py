import pytest


def test_calibrate(forge):
    document = forge("aie", "calibrate", "--json")
    assert set(document) == {"costs", "held_out_error", "fitted", "held_out", "networks"}
    assert document["costs"]["call_cycles"] == 44
    latency = document["networks"][0]
    assert latency["name"] == "jet tagger, 4 heads: latency"
    assert latency["published"] == pytest.approx(224_417)
    text = forge("aie", "calibrate").stdout
    for part in ("Fitted", "Held out", "Networks", "transpose keys", "mean error of rows"):
        assert part in text
