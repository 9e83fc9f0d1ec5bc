"""A model of ours as ONNX graphs: the same numbers and weights by onnxruntime, for any batch and length."""

import jaxtyping
import numpy as np
import pytest
import torch

from regard.attention import watch
from regard.errors import UsageError
from regard.interop import exporting
from regard.interop.onnx_modules import Encoding, Step, ready
from regard.interop.outline import Outgoing
from regard.models.encoder import padding_of
from tests.interop.test_exporting import SMALL, made

CASES = {
    "translator": ("translate", {}, {}),
    "additive, post-norm, pruned": (
        "translate",
        {"score": "additive", "norm": "post", "heads": [1, 2], "key_width": 8},
        {"score": "additive", "norm": "post", "cross_heads": [2, 1], "key_width": 8},
    ),
    "sparse": ("translate", {"normalise": "sparsemax", "reach": "window", "reach_size": 2}, {}),
    "rotary language model": ("language", None, {"position": "rotary", "activation": "swiglu"}),
    "alibi language model": ("language", None, {"position": "alibi"}),
    "tagger": ("tag", {"position": "learned"}, None),
    "classifier": ("classify", {}, None),
}


def run_of(name, folder):
    task, encoder, reader = CASES[name]
    stack = None if encoder is None else SMALL | encoder
    own = SMALL | reader if reader is not None else {"kind": task}
    return made(folder, task, stack, own)


@pytest.fixture
def libraries(monkeypatch):
    """An exporter follows sizes as symbols, which are no `int` to who checks types."""
    for library in exporting.NEEDS["onnx"]:
        pytest.importorskip(library)
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)


@pytest.mark.slow
@pytest.mark.usefixtures("libraries")
@pytest.mark.parametrize("name", CASES)
def test_a_model_is_the_same_in_onnxruntime(name, tmp_path):
    run = run_of(name, tmp_path / "run")
    parity = exporting.export(run, "onnx", tmp_path / "out", exporting.questions(run, 5))
    assert parity.holds, parity.words()
    assert parity.difference < 1e-4
    assert parity.weights < 1e-5
    assert (tmp_path / "out" / "README.md").is_file()


@pytest.mark.slow
@pytest.mark.usefixtures("libraries")
def test_a_batch_of_different_lengths_gives_what_each_gives_alone(tmp_path):
    """Graphs were traced with other sizes: batch 4, sources of 2 to 9 symbols, steps of 1 symbol and of 3."""
    from regard.interop.to_onnx import write

    out = Outgoing.of(run_of("translator", tmp_path / "run"))
    _, opened = write(out, tmp_path / "out")
    held = opened()
    sources = [list(range(300, 300 + length)) for length in (9, 2, 5, 3)]
    tokens = np.array([[1, 301, 302, 303]] * 4)
    known = held.encode(sources)
    many = held.step(tokens[:, :3], {}, known)
    one = held.step(tokens[:, 3:], many, known)
    assert one["self.1.weights"].shape == (4, 2, 1, 4)
    assert one["cross.1.weights"].shape == (4, 2, 1, 9)
    for row, source in enumerate(sources):
        alone = torch.tensor([source])
        with torch.no_grad(), watch(out.model) as seen:
            logits = out.model(alone, None, torch.tensor(tokens[row : row + 1]))[0]
        both = np.concatenate([many["logits"][row], one["logits"][row]])
        assert np.abs(both - logits.numpy()).max() < 1e-4
        cross = seen.weights("reader.blocks.1.cross.attention")[0, :, 3]
        assert np.abs(one["cross.1.weights"][row, :, 0, : len(source)] - cross.numpy()).max() < 1e-6
        assert not one["cross.1.weights"][row, :, 0, len(source) :].any()


@torch.no_grad()
@pytest.mark.parametrize("name", ["translator", "additive, post-norm, pruned"])
def test_the_functions_behind_the_graphs_are_the_model(name, tmp_path):
    """What is traced, by torch itself: caches given and given back, weights as outputs."""
    out = Outgoing.of(run_of(name, tmp_path / "run"))
    model = ready(out.model)
    source, lengths = torch.tensor([[5, 6, 7, 2], [8, 2, 0, 0]]), torch.tensor([4, 2])
    inputs = torch.tensor([[1, 5, 9], [1, 6, 7]])
    memory = Encoding(model)(source, lengths)
    layers = len(model.reader.blocks)
    empty = [
        one for c in model.reader.start(model.encode(source), 0).caches for one in (c.key, c.value)
    ]
    step = Step(model.reader)
    first, *rest = step(inputs[:, :2], *empty, lengths, *memory[: 2 * layers])
    last, *after = step(inputs[:, 2:], *rest[: 2 * layers], lengths, *memory[: 2 * layers])
    with watch(out.model) as seen:
        encoded = out.model.encoder(source, padding_of(source, lengths))
        expected = out.model.reader(encoded, inputs)
    assert torch.allclose(torch.cat([first, last], 1), expected, atol=1e-4)
    cross = seen.weights(f"reader.blocks.{layers - 1}.cross.attention")
    assert torch.allclose(after[-1], cross[:, :, 2:], atol=1e-6)
    assert torch.allclose(
        memory[-1], seen.weights(f"encoder.blocks.{layers - 1}.attention.attention"), atol=1e-6
    )


@pytest.mark.parametrize(
    ("encoder", "reader", "clause"),
    [
        ({"kind": "rnn", "width": 8}, SMALL, "model.encoder.kind is 'rnn'"),
        (SMALL, {"kind": "rnn", "width": 16}, "model.reader.kind is 'rnn'"),
        (SMALL, SMALL | {"copies": True}, "model.reader.copies is True"),
        (SMALL | {"normalise": "gumbel"}, SMALL, "weights without chance"),
    ],
    ids=str,
)
def test_what_graphs_do_not_hold_is_refused_by_its_clause(encoder, reader, clause, tmp_path):
    from regard.interop import to_onnx

    out = Outgoing.of(made(tmp_path / "run", "translate", encoder, reader))
    if "chance" in clause:
        out.model.train()
    with pytest.raises(UsageError, match="cannot hold this model") as caught:
        to_onnx.write(out, tmp_path / "out")
    assert clause in caught.value.what
    assert not (tmp_path / "out").exists()


def test_a_missing_library_names_its_extra(tmp_path, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "onnx", None)
    run = run_of("translator", tmp_path / "run")
    with pytest.raises(UsageError, match="needs the library onnx") as caught:
        exporting.export(run, "onnx", tmp_path / "out")
    assert "regard[export]" in caught.value.remedy


def test_a_search_takes_no_step_behind_the_last_symbol(monkeypatch):
    """Of a language model with 47 learned positions it asked for the 48th, and failed."""
    from regard.interop.onnx_session import Opened

    steps = []

    def step(_, tokens, *_rest):
        steps.append(tokens.shape[1])
        return {"logits": np.eye(9)[None, [5]]}

    monkeypatch.setattr(Opened, "step", step)
    opened = object.__new__(Opened)
    opened.reads, opened.writes = False, True
    assert opened.answer([7, 8], 3) == [5, 5, 5]
    assert steps == [3, 1, 1]
