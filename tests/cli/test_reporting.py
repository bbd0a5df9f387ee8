def test_a_page_is_written(forge, model, tmp_path):
    result = forge("report", model, "-o", tmp_path / "net.html", "--precision", "bf16")
    assert result.stdout == f"wrote {tmp_path / 'net.html'}\n"
    page = (tmp_path / "net.html").read_text(encoding="utf-8")
    assert "Net from forge_cli_user:build" in page
    assert "<dd>bf16</dd>" in page
    assert "No graphs were kept" not in page
    assert "No profile was taken" in page


def test_the_page_is_called_report_html_and_has_a_profile_if_asked_for(forge, model, tmp_path):
    assert forge("report", model, "--profile").stdout == "wrote report.html\n"
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "20 calls were measured" in page
    assert "No profile was taken" not in page


def test_a_folder_that_is_not_there(forge, model, tmp_path):
    result = forge("report", model, "-o", tmp_path / "none" / "net.html", exit_code=1)
    assert "its folder does not exist" in result.stderr
