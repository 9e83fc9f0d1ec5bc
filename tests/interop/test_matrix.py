"""Every unusual setting: a format holds it with parity, and gives it back the same, or names the clause."""

import json

import pytest

from regard.answer.predictor import Predictor
from regard.errors import RegardError
from regard.interop import exporting, importing
from tests.interop.test_exporting import SMALL, made

ACTIVATIONS, NORMS = ("gelu", "gelu-tanh", "swish", "swiglu"), ("post", "none")
SCORES = ("dot", "general", "additive", "cosine", "location", "feature-map")
NORMALISERS = ("sparsemax", "entmax-1.5", "relu", "sigmoid", "hard", "gumbel", "proportional")
POSITIONS = ("none", "sinusoidal-halves", "learned", "rotary", "alibi")
REACHES = ("causal", "window", "strided", "global-window")
STACKS = [  # what either side may have
    {},
    *({"activation": one} for one in ACTIVATIONS),
    *({"norm": one} for one in NORMS),
    *({"score": one} for one in SCORES),
    *({"normalise": one} for one in NORMALISERS),
    *({"position": one} for one in POSITIONS),
    *({"reach": one, "reach_size": 3} for one in REACHES),
    {"norm_form": "plain"},
    {"norm_eps": 1e-6},
    {"norm_eps": 1e-12, "norm": "post", "embedding_norm": True},
    {"position_at": "heads"},
    {"position": "rotary", "activation": "gelu"},
    {"position": "rotary", "position_at": "heads"},
    {"position": "learned", "position_at": "heads", "max_length": 47},
    {"position": "learned", "max_length": 47},
    {"position_base": 500.0},
    {"position_base": 500.0, "position": "rotary", "activation": "gelu"},
    {"position_base": 500.0, "norm": "post"},
    {"scale_embedding": False},
    {"embedding_norm": True},
    {"embedding_norm": True, "activation": "gelu"},
    {"embedding_norm": True, "norm": "post"},
    {"residual": False},
    {"feedforward": 0},
    {"feedforward": 17, "width": 14},
    {"heads": [1, 2], "key_width": 8},
    {"heads": 3, "key_width": 5},
    {"heads": 2, "key_width": 4},
    {"key_width": 8, "value_width": 4},
    {"key_width": [8, 4]},
    {"heads": 3, "width": 21},
    {"gates": "learned"},
    {"layers": 3},
]
READERS = [{"tied": False}, {"output_bias": True}, {"cross_heads": 1}, {"cross_key_width": 4}]
ENCODERS = [{"mixing": "window", "reach_size": 2}, {"mixing": "whole", "max_length": 64}]
PAIRS = [  # encoder and reader of their own
    ({"position": "learned", "max_length": 40}, {"position": "learned", "max_length": 60}),
    ({"position": "learned"}, {}),
    ({"position": "none"}, {"position": "learned"}),
    ({"position": "sinusoidal-halves", "norm": "post"}, {"norm": "post"}),
    ({"layers": 1, "heads": 4, "feedforward": 17}, {"layers": 3}),
    ({"norm": "post"}, {}),
    ({"scale_embedding": False}, {}),
    (
        {"heads": [2, 1], "key_width": 8},
        {"heads": 1, "key_width": 8, "cross_heads": [1, 2], "cross_key_width": 8},
    ),
]
TEXTS = [
    {"shared": False},
    {"kind": "char"},
    {"kind": "word"},
    {"kind": "unigram"},
    {"kind": "byte"},
]
TAG = {"kind": "tag"}


def cases():
    both = [(one, one, {}) for one in STACKS] + [(*one, {}) for one in PAIRS]
    both += [({}, one, {}) for one in READERS] + [(one, {}, {}) for one in ENCODERS]
    both += [({}, {}, one) for one in TEXTS]
    yield from (("translate", SMALL | e, SMALL | r, text) for e, r, text in both)
    yield "summarise", SMALL, SMALL, {}
    yield from (("language", None, SMALL | one, {}) for one in (*STACKS, *READERS[:2]))
    for task in ("tag", "fill"):
        yield from ((task, SMALL | one, TAG, {}) for one in (*STACKS, *ENCODERS))
    for pooling in ("attention", "mean", "first"):
        yield "classify", SMALL, {"kind": "classify", "pooling": pooling}, {}


def named(case):
    task, encoder, reader, text = case
    changes = [
        {name: value for name, value in (own or {}).items() if SMALL.get(name) != value}
        for own in (encoder, reader)
    ]
    return f"{task} {json.dumps([*changes, text])}"


# One of each architecture, and what was once written wrongly or failed without a word.
FAST = {
    named(one)
    for one in (
        ("translate", SMALL, SMALL, {}),
        ("translate", SMALL | {"norm": "none"}, SMALL | {"norm": "none"}, {}),
        *(("translate", SMALL | e, SMALL | r, {}) for e, r in PAIRS[:4]),
        ("translate", *2 * (SMALL | {"norm": "post"},), {}),
        ("translate", *2 * (SMALL | {"norm": "post", "embedding_norm": True},), {}),
        ("translate", *2 * (SMALL | {"embedding_norm": True},), {}),
        ("translate", SMALL, SMALL, {"shared": False}),
        ("summarise", SMALL, SMALL, {}),
        ("language", None, SMALL | {"position": "rotary"}, {}),
        ("language", None, SMALL | {"position": "learned", "max_length": 47}, {}),
        ("tag", SMALL, TAG, {}),
        ("fill", SMALL | {"position": "rotary", "activation": "gelu"}, TAG, {}),
    )
}


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(one, id=named(one), marks=() if named(one) in FAST else pytest.mark.slow)
        for one in cases()
    ],
)
def test_hugging_face_holds_it_and_gives_it_back_or_names_the_clause(case, tmp_path):
    run, parity = taken(case, "huggingface", tmp_path)
    if parity is None:
        return
    back = importing.bring_in(tmp_path / "out", tmp_path / "back")
    texts = exporting.questions(run, 3)
    found = importing.compare(back, tmp_path / "out", texts)
    assert found.same_ids == found.same_answers == 3, found.words()
    assert found.difference < 1e-3
    settings = run.settings.decode.model_copy(
        update={"beam": 1, "max_length": 12, "penalty": "average"}
    )
    answers = [
        [answer.text for answer in model.predict(texts, decode=settings)]
        for model in (Predictor(one, one.load_model()) for one in (run, back))
    ]
    assert answers[0] == answers[1]


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(one, id=named(one), marks=() if named(one) in FAST else pytest.mark.slow)
        for one in cases()
    ],
)
def test_ctranslate2_holds_it_or_names_the_clause(case, tmp_path):
    pytest.importorskip("ctranslate2")
    taken(case, "ctranslate2", tmp_path)


def taken(case, to, place):
    """The run, and the parity of what was written; None where it was refused and nothing is there."""
    task, encoder, reader, text = case
    run = made(place / "run", task, encoder, reader, text)
    fault = ""
    try:
        parity = exporting.export(run, to, place / "out", exporting.questions(run, 3))
    except RegardError as refusal:
        fault = refusal.what
    if fault:
        assert ", and it holds " in fault or "no text to compare by" in fault, fault
        assert not (place / "out").exists()
        return run, None
    assert parity.holds, parity.words()
    return run, parity
