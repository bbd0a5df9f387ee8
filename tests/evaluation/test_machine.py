from forge_ugc import native
from forge_ugc.errors import BackendUnavailableError
from forge_ugc.evaluation import machine


def test_the_facts_of_this_machine(monkeypatch):
    facts = machine.machine_facts()
    assert facts["processor"]
    assert int(facts["processors"]) >= 1
    assert facts["instructions"] in native.cpu_isa()

    def absent():
        raise BackendUnavailableError("not built")

    monkeypatch.setattr(native, "isa_cap", absent)
    assert machine.instruction_set() == "none (extension not built)"
