"""What somebody new tries with each public name: its help, its signature, and the obvious wrong thing."""

import inspect
import pickle
import pydoc

import jaxtyping
import numpy as np
import pytest
import torch

import regard
from regard.attention import Seen
from regard.errors import RegardError, UsageError


@pytest.fixture(autouse=True)
def _as_users_have_it():
    """Types are checked in tests alone, and would speak before we do."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


NAMES = [name for name in dir(regard) if name != "__version__"]


@pytest.mark.parametrize("name", NAMES)
def test_every_name_explains_itself(name):
    value = getattr(regard, name)
    said = inspect.getdoc(value) or ""
    assert len(said.split("\n")[0].split()) >= 3
    if inspect.isclass(value):
        inherited = [inspect.getdoc(base) for base in value.__mro__[1:]]
        assert said not in inherited
    if not inspect.ismodule(value):
        inspect.signature(value)


def test_help_is_a_page_and_not_a_book():
    page = pydoc.render_doc(regard, renderer=pydoc.plaintext)
    assert len(page) < 40_000  # without all that Python itself says of a str, for a Question is one
    for name in NAMES:
        assert name in page


def test_a_star_imports_the_front_door():
    names = {}
    exec("from regard import *", names)
    assert set(regard.__all__) <= set(names)


WRONG = {
    "load": [lambda: regard.load(3), lambda: regard.load("nosuch"), lambda: regard.load(["a"])],
    "train": [
        lambda: regard.train(3),
        lambda: regard.train(["a", "b"]),
        lambda: regard.train(),
        lambda: regard.train(toy="revers"),
        lambda: regard.train("a.tsv", settings=3),
    ],
    "trace": [lambda: regard.trace(3, "x"), lambda: regard.trace("nosuch", "x")],
    "look": [
        lambda: regard.look(3, "x"),
        lambda: regard.look("nosuch", "x"),
        lambda: regard.look("translator", 3),
    ],
    "watch": [lambda: regard.watch("runs/x").__enter__(), lambda: regard.watch(3).__enter__()],
    "attend": [
        lambda: regard.attend("a", "b", "c"),
        lambda: regard.attend(None, None, None),
        lambda: regard.attend([[1.0, 2.0], [3.0]], [[1.0]], [[1.0]]),
        lambda: regard.attend({}, {}, {}),
        lambda: regard.attend([[1.0]], [[1.0]], [[1.0]], mask=regard.Causal),
        lambda: regard.attend([[1.0]], [[1.0]], [[1.0]], mask="causal"),
        lambda: regard.attend([[1.0]], [[1.0]], [[1.0]], score=regard.Dot),
        lambda: regard.attend([[1.0]], [[1.0]], [[1.0]], normalise=3),
        lambda: regard.attend(torch.ones(1, 1), torch.ones(1, 1).double(), [[1.0]]),
    ],
    "align": [
        lambda: regard.align("a", "b"),
        lambda: regard.align([[1]], [[1]], mask=[[1, 0], [1]]),
    ],
    "head_view": [lambda: regard.head_view(3, "x"), lambda: regard.head_view("runs/x")],
    "model_view": [lambda: regard.model_view(3), lambda: regard.model_view("runs/x", 3)],
    "neuron_view": [lambda: regard.neuron_view(3), lambda: regard.neuron_view("runs/x")],
    "build": [lambda: regard.build({}, {}), lambda: regard.build("x", regard.Sizes())],
    "beam": [lambda: regard.beam("x", "y", "z")],
    "greedy": [lambda: regard.greedy("x", "y", "z")],
    "sample": [lambda: regard.sample("x", "y", "z")],
    "count_parameters": [lambda: regard.count_parameters("x")],
    "Window": [
        lambda: regard.Window("a", "b"),
        lambda: regard.Window(-1, 0),
        lambda: regard.Window(1.5, 0),
    ],
    "Strided": [lambda: regard.Strided("3"), lambda: regard.Strided(0)],
    "GlobalWindow": [lambda: regard.GlobalWindow("a"), lambda: regard.GlobalWindow(1, -1)],
    "Padding": [
        lambda: regard.Padding([[3]]),
        lambda: regard.Padding("a"),
        lambda: regard.Padding([0.5]),
    ],
    "Given": [
        lambda: regard.Given("x"),
        lambda: regard.Given([1, 0]),
        lambda: regard.Given(regard.Causal()),
    ],
    "Causal": [lambda: regard.Causal() & 3],
    "Heads": [
        lambda: regard.Heads("16", 4),
        lambda: regard.Heads(16, 3),
        lambda: regard.Heads(16, 2.0),
        lambda: regard.Heads(16, 4, "scaled_dot"),
        lambda: regard.Heads(16, 4, regard.ScaledDot),
        lambda: regard.Heads(16, 4)(torch.ones(3, 16)),
        lambda: regard.Heads(16, 4)(torch.ones(1, 3, 8)),
    ],
    "Attention": [
        lambda: regard.Attention("additive"),
        lambda: regard.Attention(regard.Softmax(), regard.Dot()),
        lambda: regard.Attention("dot", "sofmax"),
    ],
    "Covered": [lambda: regard.Covered(3, 3, 0)],
    "Additive": [lambda: regard.Additive("a", 3, 3), lambda: regard.Additive(3, 3, 0)],
    "General": [lambda: regard.General("x", 3)],
    "Location": [lambda: regard.Location(8, "x")],
    "LocationAware": [lambda: regard.LocationAware(3, 3, 0)],
    "Cosine": [lambda: regard.Cosine("x"), lambda: regard.Cosine(-1)],
    "Gumbel": [lambda: regard.Gumbel("hot"), lambda: regard.Gumbel(0)],
    "Rotary": [lambda: regard.Rotary(7), lambda: regard.Rotary("x")],
    "Alibi": [lambda: regard.Alibi(0), lambda: regard.Alibi("x")],
    "Learned": [lambda: regard.Learned("x", 3), lambda: regard.Learned(4, 0)],
    "Sinusoidal": [lambda: regard.Sinusoidal("x")],
    "sinusoid": [lambda: regard.sinusoid("x", 4), lambda: regard.sinusoid(4, 4, layout="x")],
    "Memory": [lambda: regard.Memory([1], [2])],
    "Run": [lambda: regard.Run.open("nosuch"), lambda: regard.Run.open(3)],
    "Predictor": [lambda: regard.Predictor.load("nosuch")],
    "Trace": [lambda: regard.Trace.load("nosuch.npz"), lambda: regard.Trace.load(3)],
    "worked": [lambda: regard.worked.render("six-steps")],
    "Question": [lambda: regard.Question(3), lambda: regard.Question({"word": 3})],
}
# What takes nothing, what Python itself or pydantic refuses, and what others make.
LEFT = """
    Aligned DecodeSettings Dot Entmax15 FeatureMap Hard Hypothesis Image Listener Model ModelSettings
    Prediction Proportional RegardError Relu ScaledDot Sigmoid Sizes Softmax Sound Sparsemax reference
""".split()  # noqa: SIM905


def test_every_name_is_tried():
    assert sorted([*WRONG, *LEFT]) == NAMES


@pytest.mark.parametrize("name", WRONG)
def test_the_obvious_wrong_thing_is_said_in_words(name):
    for call in WRONG[name]:
        with pytest.raises(RegardError) as caught:
            call()
        assert all((caught.value.what, caught.value.where, caught.value.remedy))


ROWS = [[1.0, 2.0], [3.0, 4.0]]


@pytest.mark.parametrize(
    "rows", [ROWS, tuple(map(tuple, ROWS)), np.array(ROWS), [torch.tensor(row) for row in ROWS]]
)
def test_lists_and_arrays_are_rows(rows):
    expected = regard.attend(*[torch.tensor(ROWS)] * 3, mask=regard.Causal())
    context = regard.attend(rows, rows, rows, mask=[[True, False], [True, True]])
    torch.testing.assert_close(context.float(), expected)
    assert context.dtype == (torch.float64 if isinstance(rows, np.ndarray) else torch.float32)
    weights = regard.align(rows, torch.tensor(ROWS)).weights
    assert weights.shape == (1, 1, 2, 2)


def test_integers_in_lists_are_numbers():
    assert regard.attend([[1, 2]], [[3, 4]], [[5, 6]]).tolist() == [[5.0, 6.0]]


def test_lengths_and_patterns_may_be_lists():
    padding = regard.Padding([2, 1])
    assert padding.to_bool(1, 2, batch=2)[:, 0, 0].tolist() == [[True, True], [True, False]]
    assert regard.Given([[True, False]]).allowed.shape == (1, 1, 1, 2)
    assert (regard.Causal() & [[True]]).parts[1].allowed.shape == (1, 1, 1, 1)


@pytest.mark.parametrize("score", ["scaled-dot", "additive", "general", "cosine", "location"])
def test_heads_are_made_by_name_and_called(score):
    heads = regard.Heads(12, 3, score).eval()
    states, source = torch.randn(2, 5, 12), torch.randn(2, 4, 12)
    torch.testing.assert_close(heads(states), heads(states, heads.remember(states)))
    torch.testing.assert_close(heads(states, source), heads(states, heads.remember(source)))
    ahead = heads(states, mask=regard.Causal())
    torch.testing.assert_close(ahead[:, :3], heads(states[:, :3], mask=regard.Causal()))
    with pytest.raises(UsageError, match="a memory has its mask already"):
        heads(states, heads.remember(source), regard.Causal())


def test_an_attention_is_made_by_names():
    attention = regard.Attention("dot", "sparsemax")
    assert isinstance(attention.score, regard.Dot)
    assert isinstance(attention.normaliser, regard.Sparsemax)
    plain = regard.Attention()
    assert isinstance(plain.score, regard.ScaledDot)
    assert isinstance(plain.normaliser, regard.Softmax)


def test_a_wrong_path_names_the_nearest():
    heads = regard.Heads(4, 2)
    with regard.watch(heads) as seen:
        heads(torch.randn(1, 3, 4))
    assert seen.get("nosuch") is None
    assert "nosuch" not in seen
    for look in (lambda: seen["atention"], lambda: seen.weights("atention")):
        with pytest.raises(KeyError) as caught:
            look()
        error = pickle.loads(pickle.dumps(caught.value))
        assert isinstance(error, UsageError)
        assert str(error).split("\n") == [
            "nothing was recorded at 'atention'",
            "seen",
            "did you mean 'attention'?",
        ]
    with pytest.raises(UsageError, match="call the model inside"):
        Seen()["attention"]


def test_a_wrong_name_of_the_package_names_the_nearest():
    with pytest.raises(AttributeError, match="did you mean 'attend'"):
        getattr(regard, "at" + "end")
