import itertools
import json
import math
import subprocess
import sys

import pytest
import torch

import regard
from regard.attention import NORMALISERS, SCORES, Additive, Gumbel, make_normaliser

BATCH, HEADS, QUERIES, KEYS, WIDTH, VALUE_WIDTH = 2, 3, 5, 7, 11, 13
LEADING = [(), (BATCH,), (BATCH, HEADS)]


def draw(*leading):
    return (
        torch.randn(*leading, QUERIES, WIDTH),
        torch.randn(*leading, KEYS, WIDTH),
        torch.randn(*leading, KEYS, VALUE_WIDTH),
    )


def test_a_step_of_one_gives_shares_of_one_and_e():
    query, key = torch.tensor([[1.0]]), torch.tensor([[0.0], [1.0]])
    shares = torch.tensor([1, math.e]) / (1 + math.e)
    aligned = regard.align(query, key)
    torch.testing.assert_close(aligned.weights.flatten(), shares)
    context = regard.attend(query, key, torch.tensor([[10.0], [20.0]]))
    torch.testing.assert_close(context, (shares @ torch.tensor([10.0, 20.0])).view(1, 1))


@pytest.mark.parametrize("leading", LEADING, ids=["2 axes", "3 axes", "4 axes"])
def test_attend_answers_in_kind(leading):
    query, key, value = draw(*leading)
    context = regard.attend(query, key, value)
    assert context.shape == (*leading, QUERIES, VALUE_WIDTH)
    expected = (query @ key.mT / math.sqrt(WIDTH)).softmax(-1) @ value
    torch.testing.assert_close(context, expected)


@pytest.mark.parametrize("leading", LEADING, ids=["2 axes", "3 axes", "4 axes"])
@pytest.mark.parametrize("score", SCORES)
def test_align_works_out_what_attend_returns(score, leading):
    query, key, value = draw(*leading)
    for normalise in NORMALISERS:
        aligned = regard.align(query, key, value, score, normalise, regard.Causal())
        context = regard.attend(query, key, value, score, normalise, regard.Causal())
        assert aligned.weights.shape[-2:] == (QUERIES, KEYS)
        assert aligned.weights.dim() == 4
        torch.testing.assert_close(aligned.context.view_as(context), context)


def test_align_needs_no_value():
    query, key, _ = draw()
    assert torch.equal(regard.align(query, key).memory.value[0, 0], key)


def test_learned_scores_have_identity_weights_here():
    query, key, _ = draw()
    scores = {name: regard.align(query, key, score=name).scores[0, 0] for name in SCORES}
    for i, j in itertools.product(range(QUERIES), range(KEYS)):
        q, k = query[i], key[j]
        expected = {
            "dot": q @ k,
            "scaled-dot": q @ k / math.sqrt(WIDTH),
            "general": q @ k,
            "additive": torch.tanh(q + k).sum(),
            "cosine": q @ k / (q.norm() * k.norm()),
            "location": q[j],
            "feature-map": (torch.where(q > 0, q + 1, q.exp()))
            @ torch.where(k > 0, k + 1, k.exp()),
        }
        assert set(expected) == set(SCORES)
        for name, number in expected.items():
            torch.testing.assert_close(scores[name][i, j], number, atol=1e-5, rtol=1e-5)


def test_general_and_additive_take_keys_of_another_width():
    query, key = torch.randn(5, 3), torch.randn(7, 4)
    dots = query @ key[:, :3].T
    torch.testing.assert_close(regard.align(query, key, score="general").scores[0, 0], dots)
    assert regard.align(query, key, score="additive").scores.shape == (1, 1, 5, 7)


def test_a_score_and_a_normaliser_of_ones_own():
    query, key, value = draw(BATCH)
    score = Additive(WIDTH, WIDTH, 3)
    context = regard.attend(query, key, value, score, make_normaliser("sparsemax"))
    memory = score.prepare(key[:, None])
    weights = make_normaliser("sparsemax")(score(query[:, None], memory))
    torch.testing.assert_close(context, (weights @ value[:, None])[:, 0])
    context.sum().backward()
    assert score.query_weight.grad is not None


def test_what_is_passed_in_is_left_as_it_was():
    query, key, value = draw()
    chance = Gumbel()
    regard.attend(query, key, value, normalise=chance)
    assert chance.training
    assert chance.is_random


def test_a_named_gumbel_is_its_best_guess():
    query, key, value = draw()
    gumbel, hard = (regard.attend(query, key, value, normalise=name) for name in ("gumbel", "hard"))
    assert torch.equal(gumbel, hard)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_the_answer_has_the_type_of_the_question(dtype):
    inputs = [states.to(dtype) for states in draw(BATCH)]
    for score, normalise in itertools.product(SCORES, ("softmax", "entmax-1.5")):
        context = regard.attend(*inputs, score=score, normalise=normalise)
        assert context.dtype == dtype
        assert context.isfinite().all()


def test_gradients_flow_to_all_three():
    inputs = [states.requires_grad_() for states in draw(BATCH, HEADS)]
    regard.attend(*inputs).square().sum().backward()
    assert all(states.grad.abs().sum() > 0 for states in inputs)


@pytest.mark.parametrize(
    ("leading", "shape"),
    [
        ((), (QUERIES, KEYS)),
        ((BATCH,), (QUERIES, KEYS)),
        ((BATCH,), (BATCH, QUERIES, KEYS)),
        ((BATCH, HEADS), (QUERIES, KEYS)),
        ((BATCH, HEADS), (BATCH, QUERIES, KEYS)),
        ((BATCH, HEADS), (BATCH, HEADS, QUERIES, KEYS)),
        ((BATCH, HEADS), (BATCH, 1, 1, KEYS)),
    ],
)
def test_a_mask_may_be_a_bool_tensor(leading, shape):
    query, key, value = draw(*leading)
    mask = torch.rand(shape) > 0.3
    scores = query @ key.mT / math.sqrt(WIDTH)
    aligned = mask if mask.dim() != 3 or len(leading) < 2 else mask[:, None]
    weights = scores.masked_fill(~aligned, -torch.inf).softmax(-1)
    torch.testing.assert_close(regard.attend(query, key, value, mask=mask), weights @ value)


def test_wrong_shapes_are_refused(refuses):
    query, key, value = draw(BATCH)
    alike = "(rows, width), (batch, rows, width) or (batch, heads, rows, width), alike for all"
    with refuses("key has shape (7, 11) beside a query of (2, 5, 11)", "key", alike):
        regard.attend(query, key[0], value)
    with refuses("query has shape (11,) beside a query of (11,)", "query", alike):
        regard.attend(query[0, 0], key, value)
    with refuses(
        "value has shape (1, 7, 13): its batch and heads differ from the query's (2,)",
        "value",
        "give value the shape (2, keys, width)",
    ):
        regard.attend(query, key, value[:1])
    with refuses(
        "every key needs one value: key is (2, 1, 7, 11), value is (2, 1, 6, 13)",
        "value",
        "(batch, heads, key) must be the same for both",
    ):
        regard.attend(query, key, value[:, 1:])
    for score in ("dot", "scaled-dot", "cosine", "feature-map"):
        with refuses(
            f"the {score} score multiplies query and key neuron by neuron: "
            "width 11 does not meet width 10",
            "score",
            "make the widths equal, or take general or additive",
        ):
            regard.attend(query, key[..., 1:], value, score)


def test_whole_numbers_are_refused(refuses):
    query, key, value = draw()
    with refuses("key holds torch.int64", "key", "use float numbers"):
        regard.attend(query, key.long(), value)


def test_unknown_names_are_refused(refuses):
    query, key, value = draw()
    with refuses("no score 'scaled_dot'", "score", "did you mean 'scaled-dot'?"):
        regard.attend(query, key, value, "scaled_dot")
    with refuses("no normaliser 'softmx'", "normalise", "did you mean 'softmax'?"):
        regard.align(query, key, normalise="softmx")


def test_masks_that_do_not_fit_are_refused(refuses):
    query, key, value = draw(BATCH)
    remedy = "its axes are (batch, heads, query, key), each of the scores' size or 1"
    for shape, four in (((7, 5), (1, 1, 7, 5)), ((5, 6), (1, 1, 5, 6)), ((3, 5, 7), (3, 1, 5, 7))):
        with refuses(
            f"a mask of {four} does not broadcast to scores of (2, 1, 5, 7)", "mask", remedy
        ):
            regard.attend(query, key, value, mask=torch.ones(shape, dtype=torch.bool))
    with refuses(
        "a mask is a bool tensor of 2 to 4 axes, not torch.float32 of (5, 7)",
        "mask",
        "True = may attend; write `scores_mask == 0` or `mask.bool()`",
    ):
        regard.attend(query, key, value, mask=torch.zeros(5, 7))
    with refuses(
        "padding has 3 lengths for a batch of 2",
        "mask",
        "give one length a row: how many of its keys are real",
    ):
        regard.attend(query, key, value, mask=regard.Padding(torch.tensor([1, 2, 3])))


UNCHECKED = """
import json, torch, regard
from regard.attention import Attention, Dot, Softmax

rows = torch.zeros(3, 2)
four = torch.zeros(1, 1, 3, 2)
attention = Attention(Dot(), Softmax())
mistakes = {
    "word": lambda: regard.attend(rows, rows, rows, mask="causal"),
    "and": lambda: regard.Causal() & 3,
    "values": lambda: attention.remember(four, four[:, :, 1:]),
    "layout": lambda: regard.sinusoid(3, 4, layout="mixed"),
}
said = {}
for name, mistake in mistakes.items():
    try:
        mistake()
    except ValueError as error:
        said[name] = type(error).__name__, str(error)
print(json.dumps(said))
"""


def test_without_the_checks_of_the_tests_the_refusals_are_ours():
    """A user's process has no type checker: what reaches the code is refused by the code."""
    command = [sys.executable, "-c", UNCHECKED]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    example = "for example regard.Causal(), or Padding(lengths) & Window(3, 3)"
    expected = {
        "word": ("a mask is a regard mask or a bool tensor, not str", "mask", example),
        "and": ("a mask is a regard mask or a bool tensor, not int", "mask", example),
        "values": (
            "every key needs one value: key is (1, 1, 3, 2), value is (1, 1, 2, 2)",
            "value",
            "(batch, heads, key) must be the same for both",
        ),
        "layout": ("no layout 'mixed'", "layout", "choose interleaved or halves"),
    }
    said = json.loads(ran.stdout)
    assert said == {name: ["UsageError", "\n".join(lines)] for name, lines in expected.items()}
