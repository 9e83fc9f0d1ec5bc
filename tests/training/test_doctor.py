"""The doctor tells all it finds, and is well when nothing is wrong."""

from pathlib import Path

import pytest
import torch

from regard.training import health
from regard.training.health import Diagnosis, diagnose
from regard.training.machine import Gpu, Machine, this_machine
from regard.training.trials import Finding

RIGHT, WRONG, NOTE = (Finding("one", state, "told", "do") for state in ("right", "wrong", "note"))


@pytest.fixture(scope="module")
def machine():
    return this_machine(torch.device("cpu"), Path.cwd())


def test_the_machine_is_described(machine):
    assert machine.cores >= 1
    assert machine.threads == torch.get_num_threads()
    assert 0 < machine.memory_free <= machine.memory
    assert machine.disk_free > 0
    assert machine.versions["torch"] == torch.__version__
    assert machine.bfloat16 > 0
    names = [name for name, _ in machine.facts()]
    assert {"system", "processor", "memory", "disk", "GPU", "versions", "bfloat16"} == set(names)


def test_accelerators_are_named(machine):
    gpu = Gpu("Abacus 9", 2 << 30, 1 << 30)
    facts = dict(Machine(**{**machine.__dict__, "gpus": (gpu,)}).facts())
    assert facts["GPU 0"] == "Abacus 9, 1.0 GiB free of 2.0 GiB"
    assert "GPU" not in facts


@pytest.mark.parametrize(("speed", "advice"), [(2.0, "try train.precision"), (0.5, "stay with")])
def test_half_precision_is_advised_where_it_pays(machine, speed, advice):
    facts = dict(Machine(**{**machine.__dict__, "bfloat16": speed}).facts())
    assert advice in facts["bfloat16"]


@pytest.mark.parametrize(
    ("findings", "well"), [((), True), ((RIGHT, NOTE), True), ((RIGHT, WRONG), False)]
)
def test_only_what_is_wrong_makes_ill(machine, findings, well):
    diagnosis = Diagnosis(machine, findings)
    assert diagnosis.is_well == diagnosis.as_dict()["well"] == well


def test_everything_is_told_as_it_is_found(monkeypatch, tmp_path):
    monkeypatch.setattr(health, "trials", lambda _device: iter([RIGHT, NOTE]))
    told = []
    diagnosis = diagnose(tmp_path, "cpu", told.append)
    assert told == [diagnosis.machine, *diagnosis.findings]
    assert diagnosis.findings[:2] == (RIGHT, NOTE)
    assert diagnosis.findings[2].name == "settings and tokenizer"


def test_only_a_wrong_check_keeps_its_remedy():
    assert Finding.of("bits", True, "told", "do").remedy == ""
    assert Finding.of("bits", False, "told", "do").remedy == "do"
    assert [Finding.of("bits", good, "told").mark for good in (True, False)] == ["✓", "✗"]
