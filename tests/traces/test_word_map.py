"""A map of word vectors: the groups and neighbours are those of the vectors, and the rest is told."""

import json

import numpy as np
import pytest

from regard.cli.main import status
from regard.errors import UsageError
from regard.traces.word_map import WordMap, word_map
from tests.tasks.kit import task_of
from tests.traces.kit import model_of


def test_words_that_lie_together_are_one_group_and_neighbours():
    generator = np.random.default_rng(1)
    centres = np.eye(3, 11) * 4
    vectors = np.concatenate([c + generator.normal(size=(5, 11)) * 0.1 for c in centres])
    words = tuple(f"{kind}{n}" for kind in ("cat", "run", "red") for n in range(5))
    groups = tuple(n // 5 for n in range(15))
    found = WordMap(words, vectors.astype(np.float32), groups)
    assert all(name.startswith("cat") for name, _ in found.near(0, 4))
    assert [sorted({name[:3] for name in own.split(", ")}) for own in found.named()] == [
        ["cat"],
        ["run"],
        ["red"],
    ]
    singular = np.linalg.svd(vectors - vectors.mean(0), compute_uv=False) ** 2
    assert found.explained == pytest.approx(singular[:2].sum() / singular.sum(), rel=1e-4)


def test_the_vectors_are_rows_of_the_table():
    task, model = task_of("translate"), model_of("transformer-scaled-dot")
    found = word_map(task, model, 10, 3)
    assert 2 <= len(found.words) <= 10
    (number,) = task.source.encode(found.words[1])
    row = model.encoder.embedding.table.weight[number].detach().numpy()
    assert np.array_equal(found.vectors[1], row)
    assert len(set(found.groups)) <= 3
    with pytest.raises(UsageError, match="no vectors of words"):
        word_map(task_of("point"), model)


def test_the_command_draws_it(tmp_path, capsys):
    out = tmp_path / "words.svg"
    assert status(["senses", "translator", "--most", "60", "--svg", str(out), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert len(found["words"]) == 60
    assert 0 < found["explained"] < 1
    assert out.read_text("utf-8").count("<rect") > 60
