"""Symbols by their names: a vocabulary is read once, however many names are looked up in it."""

from collections import Counter

from regard.tasks import TASKS
from regard.tasks.search import names_of
from regard.text import TextSettings
from tests.tasks.kit import EXAMPLES


def test_a_vocabulary_is_read_once(monkeypatch):
    task = TASKS["translate"].learn(
        lambda: iter(EXAMPLES["translate"]), TextSettings(kind="bpe", vocabulary=300)
    )
    codec, asked = task.target, Counter()
    piece = type(codec).piece

    def counted(self, number):
        asked[number] += self is codec
        return piece(self, number)

    monkeypatch.setattr(type(codec), "piece", counted)
    names = [piece(codec, number) for number in range(4, codec.size)]
    assert task.given(names, 0) == [names_of(codec)[name] for name in names]
    assert set(asked.values()) == {1}


def test_of_two_that_look_alike_the_first_is_meant():
    task = TASKS["translate"].learn(
        lambda: iter(EXAMPLES["translate"]), TextSettings(kind="bpe", vocabulary=300)
    )
    for name, number in names_of(task.target).items():
        alike = [other for other in range(task.target.size) if task.target.piece(other) == name]
        assert number == min(alike)
