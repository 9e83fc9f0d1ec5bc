"""The tree of settings: what it reads, what it writes, and what it refuses."""

import tomllib

import pytest

from regard.config import parse, to_toml
from regard.errors import UsageError
from regard.models import ModelSettings
from tests.models.zoo import MODELS


def test_settings_survive_toml():
    for settings in MODELS.values():
        assert parse(ModelSettings, tomllib.loads(to_toml(settings))) == settings


def test_a_kind_is_enough():
    settings = parse(ModelSettings, {"encoder": {"kind": "rnn"}, "reader": {"kind": "rnn"}})

    assert (settings.encoder.cell, settings.encoder.bidirectional) == ("gru", True)
    assert (settings.reader.score, settings.reader.looks) == ("additive", "after")


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        (
            {"reader": {"kind": "rnn", "widht": 5}},
            "reader.widht: no such setting; did you mean 'width'?",
        ),
        ({"encoder": {"kind": "rnn"}}, "reader: missing"),
        ({"reader": {"kind": "rnn", "width": 0}}, "must be greater than 0, not 0"),
        ({"reader": {"kind": "tag", "dropout": 1.0}}, "must be less than 1, not 1.0"),
        ({"reader": {"kind": "rnn", "score": "dots"}}, "reader.score"),
        ({"reader": {"kind": "cnn"}}, "reader: no kind 'cnn'; did you mean 'rnn'?"),
    ],
)
def test_what_does_not_fit_is_refused_by_its_path(tree, message):
    with pytest.raises(UsageError) as fault:
        parse(ModelSettings, tree)

    assert message in str(fault.value)
