def test_json_groups_layers(forge, model):
    document = forge("explain", model, "--json")
    linears = [g for g in document["fired"] if g["module"].startswith("layers.*")]
    assert any(g["count"] == 3 for g in linears)
    assert all(g["source"] for g in linears)


def test_text_has_operators_rewrites_and_near_misses(forge, model):
    text = forge("explain", model).stdout
    for part in ("Operators", "aten.gelu.default", "Rewrites that fired", "layers.*"):
        assert part in text
    assert "Near misses" in text or "no near misses" in text
