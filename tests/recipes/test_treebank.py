"""What recipes/treebank counts as a tree over its words, and how it makes a row smaller."""

import argparse
import importlib.util

import pytest

from tests.house.tree import ROOT

spec = importlib.util.spec_from_file_location("treebank", ROOT / "recipes" / "treebank" / "run.py")
treebank = importlib.util.module_from_spec(spec)
spec.loader.exec_module(treebank)


@pytest.mark.parametrize(
    ("said", "counts"),
    [
        ("(S (NP (XX the) (XX cat)) (VP (XX sat)))", True),
        ("(S (NP (XX the) (XX cat)))", False),
        ("(S (NP (XX the) (XX dog)) (VP (XX sat)))", False),
        ("(S (NP XX XX ) (VP XX", False),
        ("", False),
    ],
)
def test_an_answer_counts_that_is_a_tree_over_its_words(said, counts):
    assert treebank._is_over(said, "the cat sat") == counts


def test_a_row_is_as_narrow_and_as_deep_as_was_asked_for():
    options = argparse.Namespace(width=64, layers=1)
    lstm = treebank.sized(treebank.ROWS["lstm"], options)
    assert lstm["model.encoder.width"] == lstm["model.reader.width"] == 64
    assert (lstm["model.encoder.layers"], lstm["train.rate"]) == (1, 2e-3)
    blocks = treebank.sized(treebank.ROWS["transformer"], options)["model.reader"]
    assert (blocks["width"], blocks["feedforward"], blocks["layers"]) == (64, 256, 1)
    assert blocks["heads"] == 4
    usual = treebank.sized(treebank.ROWS["lstm"], argparse.Namespace(width=256, layers=None))
    assert usual == treebank.ROWS["lstm"]
