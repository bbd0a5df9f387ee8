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


def test_it_tells_which_blocks_were_traced_once(forge, model):
    told = "repeated-blocks: layers.0 traced once, stamped on layers.1, layers.2"
    assert told in " ".join(forge("explain", model).stdout.split())
    assert forge("explain", model, "--json")["repeated_blocks"] == [told]
    document = forge("explain", model, "--repeated-blocks", "off", "--json")
    assert document["repeated_blocks"] == []
    result = forge("explain", model, "--repeated-blocks", "never", exit_code=1)
    assert "repeated_blocks is 'never'" in result.output
