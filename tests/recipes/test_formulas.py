"""Handwritten formulas: LaTeX has one form, directions are undone, and no test picture is learned from."""

import importlib.util
import sys
import tomllib

import numpy as np
import pytest

from regard.config import parse
from regard.data.png import encode
from regard.run.settings import RunSettings
from tests.house.tree import ROOT

FOLDER = ROOT / "recipes" / "formulas"


@pytest.fixture(scope="module")
def recipe():
    spec = importlib.util.spec_from_file_location("formulas", FOLDER / "run.py")
    module = importlib.util.module_from_spec(spec)
    before = list(sys.path)
    spec.loader.exec_module(module)
    sys.path[:] = before
    return module


@pytest.mark.parametrize(
    ("typed", "right"),
    [
        (r"x^2", "x ^ { 2 }"),
        (r"\sum^n_{i = 1}", r"\sum _ { i = 1 } ^ { n }"),
        (r"\left ( \mbox { a } \right )", "( a )"),
        (r"{ - { \lambda \sum { B } } }", r"- \lambda \sum B"),
        (r"\frac bc^\frac12", r"\frac { b } { c } ^ { \frac { 1 } { 2 } }"),
        (r"\sqrt [ n ] 3", r"\sqrt [ n ] { 3 }"),
        (r"f'_1(x)", r"f _ { 1 } ^ { \prime } ( x )"),
        (r"f^{'}", r"f ^ { \prime }"),
        (r"{y^{\prime}}^2", r"y ^ { \prime 2 }"),
        (r"\lim \limits _ {z \to 1}} (z)", r"\lim _ { z \rightarrow 1 } ( z )"),
        (r"R_g\ltq\leq 2", r"R _ { g } < q \leq 2"),
        (r"\{ 1 , \ldots \} \ \; \!", r"\{ 1 , \ldots \}"),
        (r"\cdots", r"\cdots"),
        (r"x_\mathrm{L}", "x _ { L }"),
        ("", ""),
        ("x ^", "x"),
        (r"\frac", r"\frac { } { }"),
    ],
)
def test_a_formula_has_one_form(recipe, typed, right):
    assert recipe.normalised(typed) == right
    assert recipe.normalised(right) == right


def test_both_directions_are_the_same_formula(recipe):
    there, back = recipe.both_ways("x ^ { 2 }")
    assert (there, back) == ("→ x ^ { 2 }", "← } 2 { ^ x")
    assert recipe.from_left(there) == recipe.from_left(back) == "x ^ { 2 }"
    assert recipe.from_left("") == ""


def test_the_settings_of_every_form_are_settings(recipe):
    for form in recipe.FORMS.values():
        parse(RunSettings, tomllib.loads(form.settings) | {"task": "caption"})


def test_what_is_in_a_test_set_is_not_learned_from(recipe, tmp_path, capsys):
    (tmp_path / "png").mkdir()
    rows = [("train", "a"), ("train", "b"), ("test2013", "c"), ("test2014", "d"), ("test2016", "e")]
    for number, (_, name) in enumerate(rows):
        shade = 0 if name in "bd" else 50 + number
        picture = encode(np.full((4, 5, 1), shade, np.uint8))
        (tmp_path / "png" / f"{name}.png").write_bytes(picture)
    lines = (f"{split}\t{name}.png\t5\tx^2\n" for split, name in rows)
    (tmp_path / "index.tsv").write_text("".join(lines))
    out = tmp_path / "out"
    out.mkdir()
    recipe.prepare(tmp_path, out, None)
    assert (out / "train.tsv").read_text() == "png/a.png\tx ^ { 2 }\n"
    assert (out / "train2.tsv").read_text().count("png/a.png") == 2
    assert "b.png" in capsys.readouterr().out
