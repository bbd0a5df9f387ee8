import pytest

from forge_ugc.report.formatting import bytes_text, percent_text, seconds_text


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 B"), (9999, "9,999 B"), (10240, "10.0 KiB"), (1023999, "1,000.0 KiB"),
     (1024000, "1.0 MiB"), (3 << 20, "3.0 MiB"), (16 << 30, "16.0 GiB"),
     (5000 << 30, "5,000.0 GiB")],
)  # fmt: skip
def test_bytes(count, text):
    assert bytes_text(count) == text


def test_seconds_and_percent():
    assert seconds_text(0.0123) == "12.3 ms"
    assert seconds_text(9.9) == "9,900.0 ms"
    assert seconds_text(12.34) == "12.3 s"
    assert percent_text(0.1234) == "12.3%"
