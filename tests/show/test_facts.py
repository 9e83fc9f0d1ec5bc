import re

import pytest

from regard.run.folder import Run
from regard.show.moment import facts_of, machine

FACTS = {
    "parameters": 1_234_567,
    "examples": 1,
    "skipped": 0,
    "waste": 0.0317,
    "shapes": 3,
    "device": "cpu",
    "world": 1,
    "batches_a_step": 4,
}


def test_a_run_is_told_in_words(run):
    found = dict(facts_of(run, FACTS))
    assert list(found) == ["task", "data", "model", "batches", "loss", "machine"]
    assert found["data"] == "reverse: letters backwards (1 example)"
    assert found["batches"] == "4 a step, up to 256 places each in 3 shapes, 3.2% padding"
    left_out = dict(facts_of(run, {**FACTS, "examples": 40, "skipped": 2}))["data"]
    assert left_out.endswith("(40 examples, 2 too long and left out)")


def test_files_are_named_without_their_folders_and_without_tricks(run):
    settings = run.settings.model_copy(
        update={
            "data": run.settings.data.model_copy(update={"toy": None, "train": ("/a/b\x1b.en",)})
        }
    )
    found = dict(facts_of(Run(run.folder, settings, run.task), FACTS))
    assert found["data"] == "b␛.en (1 example)"


def test_who_waits_for_a_compiler_is_told_so(run):
    train = run.settings.train.model_copy(update={"compile": True})
    settings = run.settings.model_copy(update={"train": train})
    assert "compiler" in dict(facts_of(Run(run.folder, settings, run.task), FACTS))


@pytest.mark.parametrize(("score", "told"), [("dot", "dot attention"), ("none", "no attention")])
def test_a_model_without_attention_is_said_to_have_none(run, score, told):
    model = run.settings.model
    reader = model.reader.model_copy(update={"score": score})
    changed = run.settings.model_copy(update={"model": model.model_copy(update={"reader": reader})})
    found = dict(facts_of(Run(run.folder, changed, run.task), FACTS))
    assert found["model"] == f"rnn encoder, rnn reader, {told}, 1,234,567 parameters"


def test_the_machine_is_named():
    assert re.fullmatch(r"CPU, \d+ of \d+ cores?", machine("cpu", 1))
    assert machine("cpu", 3).startswith("3 processes, each CPU, ")
