"""A model of ours taken away: opened by another library it says the same, or the clause is named."""

import json
from itertools import islice
from typing import get_args

import pytest
import torch

from regard.cli.main import status
from regard.config import to_toml
from regard.data.toys import TOYS
from regard.errors import UsageError
from regard.interop import exporting, huggingface_folder
from regard.interop.outline import interleaved_to_halves, reordered
from regard.interop.spm import SentencePiece, spelled
from regard.interop.tokenizer_out import codec_of
from regard.models import build
from regard.run import weights
from regard.run.folder import Run
from regard.run.load import write_task
from regard.run.settings import RunSettings
from regard.tasks import TASKS
from regard.tasks.names import example_of

SMALL = {"kind": "transformer", "width": 16, "layers": 2, "heads": 2, "feedforward": 24}


def made(folder, task, encoder, reader, text=None):
    """A run with drawn weights, its vocabulary learned from a toy; large numbers, so that answers differ."""
    model = {"reader": reader} | ({"encoder": encoder} if encoder else {})
    tree = {"task": task, "model": model, "text": {"vocabulary": 400, **(text or {})}}
    settings = RunSettings.model_validate(tree)
    toy = next(toy for toy in TOYS.values() if toy.kind is example_of(task))
    own = TASKS[task].learn(lambda: islice(toy.examples("train"), 200), settings.text)
    torch.manual_seed(3)
    net = build(settings.model, own.sizes).eval()
    with torch.no_grad():
        for parameter in net.parameters():
            parameter.add_(torch.randn_like(parameter), alpha=0.2)
    folder.mkdir()
    (folder / "config.toml").write_text(to_toml(settings), "utf-8")
    write_task(folder / "tokenizer.json", own, task)
    weights.write(folder / "model.safetensors", net.state_dict(), {"format": "pt"})
    return Run.open(folder)


BOTH = {
    "pegasus": ({}, "PegasusForConditionalGeneration"),
    "marian": ({"norm": "post"}, "MarianMTModel"),
    "bart": (
        {"norm": "post", "embedding_norm": True, "position": "learned"},
        "BartForConditionalGeneration",
    ),
    "mbart": ({"embedding_norm": True, "activation": "gelu"}, "MBartForConditionalGeneration"),
    "pruned": ({"heads": [1, 2], "key_width": 8}, "PegasusForConditionalGeneration"),
}


@pytest.mark.parametrize("name", BOTH)
def test_a_translator_is_the_same_in_transformers(name, tmp_path):
    changes, architecture = BOTH[name]
    run = made(tmp_path / "run", "translate", SMALL | changes, SMALL | changes)
    parity = exporting.export(run, "huggingface", tmp_path / "out", exporting.questions(run, 3))
    assert parity.architecture == architecture
    assert parity.holds, parity.words()
    assert parity.same_ids == parity.same_answers == 3
    assert json.loads((tmp_path / "out" / "parity.json").read_text("utf-8"))["holds"]
    assert codec_of(tmp_path / "out").to_json() == run.task.source.to_json()


ALONE = {
    "gpt2": ("language", None, {"position": "learned"}, "GPT2LMHeadModel"),
    "gpt_neox": (
        "language",
        None,
        {"position": "rotary", "activation": "gelu"},
        "GPTNeoXForCausalLM",
    ),
    "esm": ("tag", {"position": "rotary", "activation": "gelu"}, None, "EsmForTokenClassification"),
    "megatron": ("tag", {}, None, "MegatronBertForTokenClassification"),
    "bert": (
        "tag",
        {"norm": "post", "embedding_norm": True, "activation": "gelu", "norm_eps": 1e-12},
        None,
        "BertForTokenClassification",
    ),
}


@pytest.mark.parametrize("name", ALONE)
def test_models_with_one_stack_are_the_same_in_transformers(name, tmp_path):
    task, encoder, reader, architecture = ALONE[name]
    own = SMALL | reader if reader is not None else {"kind": "tag"}
    stack = SMALL | encoder if encoder is not None else None
    run = made(tmp_path / "run", task, stack, own)
    parity = exporting.export(run, "huggingface", tmp_path / "out", exporting.questions(run, 3))
    assert parity.architecture == architecture
    assert parity.holds, parity.words()


@pytest.mark.parametrize("changes", [{}, {"norm": "post"}, {"activation": "swiglu"}], ids=str)
def test_a_translator_is_the_same_in_ctranslate2(changes, tmp_path):
    pytest.importorskip("ctranslate2")
    run = made(tmp_path / "run", "translate", SMALL | changes, SMALL | changes)
    parity = exporting.export(run, "ctranslate2", tmp_path / "out", exporting.questions(run, 3))
    assert parity.holds, parity.words()


@pytest.mark.parametrize(
    ("changes", "clause"),
    [
        ({"position": "rotary"}, "model.encoder.position is 'rotary', and it holds sinusoidal"),
        ({"score": "additive"}, "model.encoder.score is 'additive', and it holds scaled-dot"),
        ({"activation": "swiglu"}, "model.encoder.activation is 'swiglu'"),
        ({"norm_eps": 1e-6}, "norm_eps is 1e-06, and it holds 1e-05"),
        ({"cross_heads": [2, 1]}, "model.reader.key_width is '8 and 16', and it holds keys and"),
    ],
    ids=str,
)
def test_what_a_format_cannot_hold_is_refused_by_its_clause(changes, clause, tmp_path):
    reader = SMALL | changes
    encoder = {name: value for name, value in reader.items() if not name.startswith("cross")}
    run = made(tmp_path / "run", "translate", encoder, reader)
    with pytest.raises(UsageError, match="cannot hold this model") as caught:
        exporting.export(run, "huggingface", tmp_path / "out")
    assert clause in caught.value.what
    assert "vaswani2017-tiny" in caught.value.remedy
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("to", get_args(exporting.Target))
def test_a_decoder_that_copies_is_refused_by_every_format(to, tmp_path):
    for needed in exporting.NEEDS.get(to, ()):
        pytest.importorskip(needed)
    run = made(tmp_path / "run", "summarise", SMALL, SMALL | {"copies": True})
    with pytest.raises(UsageError, match=r"model\.reader\.copies is True"):
        exporting.export(run, to, tmp_path / "out")


def test_the_command_says_whether_parity_holds(tmp_path, capsys, monkeypatch):
    made(tmp_path / "run", "translate", SMALL, SMALL)
    words = ["export", str(tmp_path / "run"), "--to", "huggingface", "--lines", "3", "--json"]
    assert status([*words, "--out", str(tmp_path / "a")]) == 0
    assert json.loads(capsys.readouterr().out)["same_answers"] == 3
    monkeypatch.setattr(huggingface_folder.Opened, "answer", lambda *_: [7])
    assert status([*words, "--out", str(tmp_path / "b")]) == 1
    assert status(["export", "x", "--to", "gguf", "--out", str(tmp_path / "c")]) == 2


def test_a_missing_library_names_its_extra(tmp_path, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "ctranslate2", None)
    run = made(tmp_path / "run", "translate", SMALL, SMALL)
    with pytest.raises(UsageError, match="needs the library ctranslate2") as caught:
        exporting.export(run, "ctranslate2", tmp_path / "out")
    assert "regard[export]" in caught.value.remedy


def test_neurons_in_another_order_are_the_same_model():
    order = interleaved_to_halves(6)
    assert order.tolist() == [0, 2, 4, 1, 3, 5]
    state = {"encoder.blocks.0.feedforward.widen.weight": torch.arange(12.0).view(2, 6)}
    (found,) = reordered(state, order).values()
    assert found[0].tolist() == [0, 2, 4, 1, 3, 5]


def test_a_sentencepiece_file_is_written_as_it_was_read(tmp_path):
    from regard.text import TextSettings
    from regard.text.vocabulary import NEVER, SPECIALS, Vocabulary

    settings = TextSettings(kind="sentencepiece", vocabulary=9, symbols=(">>fra<<",))
    pieces = (*SPECIALS, ">>fra<<", " the", "s", "e", "z")
    vocabulary = Vocabulary(settings, pieces, (), (0.0,) * 5 + (-1.5, -2.0, NEVER, -3.0), b"chars")
    (tmp_path / "a.spm").write_bytes(spelled(vocabulary))
    found = SentencePiece.read(tmp_path / "a.spm")
    assert [(p.text, p.score) for p in found.pieces[3:]] == [
        ("▁the", -1.5),
        ("s", -2.0),
        ("z", -3.0),
    ]
    assert found.charmap == b"chars"
