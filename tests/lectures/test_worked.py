"""The worked examples as values: complete, plain, readable, and honest about the slides."""

import json
import math
import re
from functools import cache

import jaxtyping
import pytest
import torch

from regard.errors import UsageError
from regard.worked import (
    EXAMPLES,
    Slip,
    Step,
    Worked,
    backpropagation,
    beam_of_two,
    flying_arrows,
    painted_masks,
    parameter_count,
    position_periods,
    position_table,
    render,
    rnn_step,
    six_steps,
    six_word_loss,
    word_order,
)
from regard.worked.render import table


@pytest.fixture(params=EXAMPLES)
def example(request):
    return EXAMPLES[request.param]


@cache
def work(example):
    return example.work()


def test_everything_is_json(example):
    worked = work(example)
    for tree in (example.as_dict(), worked.as_dict()):
        assert json.loads(json.dumps(tree, allow_nan=False)) == tree
    assert [step["name"] for step in worked.as_dict()["steps"]] == [s.name for s in worked.steps]


def test_the_lecture_numbers_are_inputs_a_reader_may_pass(example):
    """What JSON gives back for the inputs works out to the same example."""
    again = example.work(**json.loads(json.dumps(example.inputs)))
    assert again.as_dict() == work(example).as_dict()


def test_luck_is_left_alone(example):
    torch.manual_seed(1)
    example.work()
    first = torch.rand(1)
    torch.manual_seed(1)
    if (
        example.title != EXAMPLES["score-functions"].title
    ):  # named scores draw weights, then drop them
        assert torch.equal(first, torch.rand(1))


def test_names_are_unique_and_shapes_fit_their_labels(example):
    worked = work(example)
    names = [step.name for step in (*worked.steps, worked.result)]
    assert len(names) == len(set(names))
    for step in (*worked.given, *worked.steps, worked.result):
        value = step.value
        if step.rows:
            assert len(value) == len(step.rows), step.name
        if step.columns:
            rows = value if isinstance(value[0], tuple) else (value,)
            assert {len(row) for row in rows} == {len(step.columns)}, step.name


def test_each_slip_names_a_lecture_a_step_and_a_reason(example):
    worked = work(example)
    names = {step.name for step in (*worked.steps, worked.result)}
    for slip in worked.slips:
        assert slip.step in names
        assert slip.lecture in example.lectures
        assert slip.printed != slip.right
        assert slip.why.endswith(".")


def test_what_a_slip_calls_right_is_what_is_worked_out(example):
    worked = work(example)
    for slip in worked.slips:
        if isinstance(slip.right, str) or slip.lecture == "L2":  # that one is a cell of a table
            continue
        right, found = row(slip.right), row(worked[slip.step])
        decimals = max(len(f"{one:.10f}".rstrip("0").partition(".")[2]) for one in right)
        assert found == pytest.approx(right, abs=0.5000001 * 10**-decimals), slip


def row(value):
    return value if isinstance(value, tuple) else (value,)


def test_a_name_is_not_the_example(monkeypatch):
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)  # as for anyone who types it
    with pytest.raises(UsageError, match="and this is a str"):
        render("six-steps")


def test_render_tells_everything(example):
    worked, text = work(example), render(example)
    assert text.startswith(f"{example.title}  [{', '.join(example.lectures)}]\n")
    for step in (*worked.given, *worked.steps, worked.result):
        assert step.name in text
        assert step.formula in text
    assert text.count("(!) Slip in") == len(worked.slips)
    assert not re.search(r"[ \t]$", text, re.MULTILINE)
    assert max(map(len, text.splitlines())) <= 110
    assert render(worked) == text.partition("\n\n")[2]


def test_render_reads_like_this():
    worked = Worked(
        formula="z = x + y",
        given=(Step("x", "", 1.5), Step("words", "w", ("a", "b"))),
        steps=(
            Step("rows", "r", ((1.0, -0.25), (10.0, 0.5)), ("one", "two"), ("p", "q")),
            Step("tiny", "t", (1e-7, 0.99999989, -math.inf)),
            Step("mask", "m", ((True, False), (True, True))),
            Step("long", "l", tuple(range(100))),
        ),
        result=Step("z", "x + y", 1048576, note="A note."),
        slips=(Slip("L0", "rows", 0.81, "0.8044", "Because."),),
    )
    assert render(worked) == (
        """\
    z = x + y

Given

  x
       1.5

  words: w
       a  b

Steps

  1. (!) rows: r
                 p      q
       one    1.00  -0.25
       two   10.00   0.50

  2. tiny: t
       1e-07  0.9999999  -inf

  3. mask: m
       ■  ·
       ■  ■

  4. long: l
       0  1  2  3  ..  98  99  (100 numbers)

Result: z: x + y
       1,048,576
     A note.

(!) Slip in L0, at 'rows'
    printed   0.81
    right     0.8044
    Because.
"""
    )


def test_a_large_number_shows_fewer_decimals():
    assert table((637621500.25, 3325.25673, 0.5)) == ["637621500  3325.2567  0.5000"]


def test_a_step_is_found_by_name():
    assert rnn_step()["sum"] == pytest.approx((0.45, 0.6))
    with pytest.raises(UsageError, match="no step 'summ'") as fault:
        rnn_step()["summ"]
    assert fault.value.remedy == "did you mean 'sum'?"


WRONG = {
    "bias must be 2 numbers; it is 3": lambda: rnn_step(bias=(1.0, 2.0, 3.0)),
    "recurrent_weight must be 2 rows of 2 numbers; it is 2 x 3": lambda: rnn_step(
        recurrent_weight=((1.0, 2.0, 3.0),) * 2
    ),
    "targets must be 3 numbers; it is 1": lambda: backpropagation(targets=(1.0,)),
    "keys is not a row of numbers, nor rows of equal length": lambda: six_steps(
        keys=((1.0,), (1.0, 2.0))
    ),
    "values must be 2 rows of 1 numbers; it is 3 x 1": lambda: six_steps(values=((1.0,),) * 3),
    "query holds a number that is not finite": lambda: six_steps(query=(math.nan,) * 64),
    "arrows must be 6 numbers; it is 2": lambda: flying_arrows(arrows=(1.0, 2.0)),
    "index must be in 0..49; it is 50": lambda: position_periods(index=50),
    "order must name each of the 5 words once, from 0; it is [0, 0, 1, 2, 3]": lambda: word_order(
        order=(0, 0, 1, 2, 3)
    ),
    "waves of base 5e-324 are shorter or longer than numbers can say": lambda: position_table(
        base=5e-324
    ),
    "waves of base 1e-200 are shorter or longer than numbers can say": lambda: position_table(
        width=1, base=1e-200
    ),
    "waves of base 1e+308 are shorter or longer than numbers can say": lambda: position_table(
        width=1, base=1e308
    ),
    "length must be in 0..6; it is 7": lambda: painted_masks(length=7),
    "painted must be 6 rows of 6 numbers; it is 6 x 5": lambda: painted_masks(
        painted=((1,) * 5,) * 6
    ),
    "num_heads must be above 0; it is 0": lambda: parameter_count(num_heads=0),
    "'thank' is not in the vocabulary": lambda: six_word_loss(targets=["thank"] * 5),
    "outputs are probabilities: not negative, and not all 0 in a row": lambda: six_word_loss(
        outputs=((0.0,) * 6,) * 5
    ),
    "beam_size must be above 0; it is 0": lambda: beam_of_two(beam_size=0),
    "top_beams = 3 asks for more than beam_size = 2 follows": lambda: beam_of_two(top_beams=3),
}


@pytest.mark.parametrize("message", WRONG)
def test_wrong_numbers_are_refused_by_name(message):
    with pytest.raises(UsageError) as fault:
        WRONG[message]()
    assert fault.value.what == message
    assert fault.value.where


def test_each_word_finds_its_own_square_and_smoothing_moves_nothing():
    worked = EXAMPLES["picture-attention"].work()
    assert worked["looked at"] == ("(1, 3)", "(3, 1)")
    assert dict(zip(PLACES, worked["states"], strict=True))["(2, 2)"] == (0.0, 0.0)  # only bright
    # The upright line has score 4, the eight other squares have 0.
    assert worked["map of word 1"][0][2] == pytest.approx(math.exp(4) / (math.exp(4) + 8))
    assert worked["weights"][1][6] == pytest.approx(worked["weights"][0][2])
    for mine, others in zip(
        worked["contexts"], worked["contexts, squares in another order"], strict=True
    ):
        assert mine == pytest.approx(others)
    smooth = worked["smooth map of word 1"]
    assert max(map(max, smooth)) == max(smooth[0]) == pytest.approx(worked["map of word 1"][0][2])
    with pytest.raises(UsageError, match="even number of rows and columns; it is 1 x 2"):
        EXAMPLES["picture-attention"].work(picture=((1, 0),))


PLACES = [f"({row}, {column})" for row in (1, 2, 3) for column in (1, 2, 3)]


def test_only_where_it_looked_last_tells_the_same_sound_twice_apart():
    worked = EXAMPLES["listen-attend-spell"].work()
    first, second = worked["weights by content"][1], worked["weights by content"][3]
    assert first == second == max(worked["weights by content"])
    assert worked["features"] == (0.0, 0.0, 0.1, 0.8)
    assert worked["weights"][3] > 2 * worked["weights"][1]
    assert worked["looked at"] == "h_4"
    asked = [math.tanh(-3 + 2.4), math.tanh(1 + 2.4)]  # h_4 = (0, 1, 0, 1), F f = 3 x 0.8
    assert worked["scores"][3] == pytest.approx(2 * sum(asked))
    assert EXAMPLES["listen-attend-spell"].work(pull=0)["weights"][1] == pytest.approx(first)
