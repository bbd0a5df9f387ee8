import pytest

from forge_ugc.evaluation.energy import EnergyCounter, NoCounterError


def package(folder, name, microjoules):
    path = folder / name
    path.mkdir()
    (path / "energy_uj").write_text(f"{microjoules}\n")
    (path / "max_energy_range_uj").write_text("1000000\n")
    return path / "energy_uj"


def test_joules_of_all_packages_without_their_parts(tmp_path):
    first = package(tmp_path, "intel-rapl:0", 100_000)
    second = package(tmp_path, "intel-rapl:1", 900_000)
    package(tmp_path, "intel-rapl:0:0", 5)
    counter = EnergyCounter.find(tmp_path)
    before = counter.read()
    assert before == (100_000, 900_000)
    first.write_text("600000")
    second.write_text("200000")  # it wrapped at 1,000,000
    assert counter.joules_since(before) == pytest.approx(0.5 + 0.3)


def test_why_there_is_no_counter(tmp_path):
    with pytest.raises(NoCounterError, match=r"^no counter \(the kernel shows no RAPL package\)$"):
        EnergyCounter.find(tmp_path)
    package(tmp_path, "intel-rapl:0", 1).unlink()
    with pytest.raises(NoCounterError, match=r"^no counter \(RAPL cannot be read: .*energy_uj"):
        EnergyCounter.find(tmp_path)
