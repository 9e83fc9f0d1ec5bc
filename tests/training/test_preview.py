"""A preview says what training then does."""

import numpy as np
import pytest

from regard.data.toys import toy
from regard.run.folder import Run
from regard.run.resolve import resolve
from regard.training.feed import plan_for, preview
from tests.training.kit import KINDS, tiny


@pytest.mark.parametrize("kind", KINDS)
def test_a_preview_is_what_training_will_find(kind, tmp_path):
    settings = tiny(tmp_path, kind, accumulate=2)
    found = preview(settings)
    run = Run.create(tmp_path / "run", settings)
    store = run.store("train")
    plan = plan_for(run.task, store.lengths, settings.batch, settings.seed)
    batches = len(plan.epoch(0))
    assert (found.examples, found.skipped) == (len(store), plan.skipped)
    assert (found.batches, found.shapes, found.waste) == (batches, len(plan.shapes), plan.waste)
    assert found.steps_an_epoch == -(-batches // 2)
    assert found.epochs == 12 / found.steps_an_epoch
    for side, most in found.lengths.items():
        lengths = np.sort(store.lengths(side))
        assert most[100] == lengths[-1]
        assert most[50] == lengths[(len(lengths) + 1) // 2 - 1]


def test_pieces_are_those_of_the_first_rows(tmp_path):
    settings = tiny(tmp_path, "rnn")
    source, target = (
        (tmp_path / "corpus-translate" / "train.tsv").read_text().split("\n")[0].split("\t")
    )
    first = preview(settings).cut[0]
    assert first["source"] == (*(f"▁{word}" for word in source.split()), "</s>")
    assert first["target"] == (*(f"▁{word}" for word in target.split()), "</s>")


def test_epochs_end_training_when_they_come_first(tmp_path):
    assert preview(tiny(tmp_path, "rnn", steps=1000, epochs=2)).epochs == 2


def test_what_is_done_is_told(tmp_path):
    told = set()
    preview(tiny(tmp_path, "rnn"), lambda what, _done: told.add(what))
    assert told == {"learning the vocabulary", "measuring lengths"}


def test_of_several_sources_each_has_its_lengths():
    """The plan looked for a source of no name, and failed."""
    settings = resolve(toy="witnesses")
    plan = preview(settings)
    names = toy("witnesses").probe.question.sources
    assert [*plan.lengths] == [*names, "target"]
    assert plan.examples > 0
