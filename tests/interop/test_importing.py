"""A Marian folder brought in as a run: the same pieces, the same numbers, the same answers, or a clause."""

import json
import struct

import pytest
import torch

import regard
from regard.errors import ModelFileError, UsageError
from regard.interop import importing
from regard.interop.spm import SentencePiece
from regard.text import Codec
from tests.interop import kit

SOURCE = {"▁": -2.0, "▁the": -1.5, "▁dog": -2.5, "s": -3.0, "a": -4.0, "|": -5.0, "▁a": -3.5}
TARGET = {"▁": -2.0, "▁le": -1.5, "▁chien": -2.5, "s": -3.0, "▁un": -3.5, "e": -5.0}
TEXTS = ["the dogs", "a dog | the", "  the   DOGS a "]


def number(value):
    found = b""
    while value > 127:
        found, value = found + bytes([value & 127 | 128]), value >> 7
    return found + bytes([value])


def field(key, value):
    if isinstance(value, float):
        return number(key << 3 | 5) + struct.pack("<f", value)
    if isinstance(value, int):
        return number(key << 3) + number(value)
    return number(key << 3 | 2) + number(len(value)) + value


def spm(pieces, trainer=1, **normaliser):
    """The bytes of a sentencepiece model."""
    special = [("<unk>", 0.0, 2), ("<s>", 0.0, 3), ("</s>", 0.0, 3)]
    content = b""
    for text, score, kind in (*special, *((text, score, 1) for text, score in pieces.items())):
        parts = field(1, text.encode()) + field(2, score) + (field(3, kind) if kind != 1 else b"")
        content += field(1, parts)
    more = b"".join(field(int(key[1:]), value) for key, value in normaliser.items())
    return content + field(2, field(3, trainer)) + field(3, field(1, b"identity") + more)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A tiny Marian folder; `|` is cut and not in the vocabulary."""
    import transformers

    place = tmp_path_factory.mktemp("marian")
    names = ["</s>", "<unk>", ">>fra<<"]
    names += [*dict.fromkeys(n for n in (*SOURCE, *TARGET) if n != "|"), "<pad>"]
    ids = {name: n for n, name in enumerate(names)}
    changes = {
        "vocab_size": len(ids),
        "decoder_vocab_size": len(ids),
        "pad_token_id": ids["<pad>"],
        "eos_token_id": 0,
        "bos_token_id": 0,
        "decoder_start_token_id": ids["<pad>"],
        "forced_eos_token_id": 0,
        "activation_function": "swish",
        "scale_embedding": True,
    }
    torch.manual_seed(5)
    model = transformers.MarianMTModel(transformers.MarianConfig(**{**kit.BART, **changes})).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.requires_grad:
                parameter.add_(torch.randn_like(parameter), alpha=0.3)
        model.final_logits_bias.normal_()
    model.generation_config = transformers.GenerationConfig(
        num_beams=3, decoder_start_token_id=ids["<pad>"], pad_token_id=ids["<pad>"], eos_token_id=0
    )
    model.save_pretrained(place)
    (place / "vocab.json").write_text(json.dumps(ids), "utf-8")
    (place / "source.spm").write_bytes(spm(SOURCE))
    (place / "target.spm").write_bytes(spm(TARGET))
    return place


@pytest.fixture(scope="module")
def run(folder, tmp_path_factory):
    return importing.bring_in(folder, tmp_path_factory.mktemp("runs") / "mine")


def test_text_is_cut_as_sentencepiece_cuts(run):
    codec = run.task.source
    pieces = [[codec.piece(number) for number in codec.encode(text)] for text in TEXTS]
    assert pieces == [
        ["▁the", "▁dog", "s"],
        ["▁a", "▁dog", "▁", "|", "▁the"],
        ["▁the", "▁", "<unk>", "▁a"],
    ]
    assert codec.decode(codec.encode("the dogs a")) == "the dogs a"
    assert codec.explain("the dogs a").words == ("the", "dogs", "a")
    assert codec.encode("<pad></s>") != [0, 2]  # nobody types a special piece
    assert codec.encode(">>fra<< the dogs")[0] == 4
    assert Codec.from_json(codec.to_json()).encode_batch(TEXTS) == codec.encode_batch(TEXTS)


def test_the_numbers_are_those_of_the_folder(run, folder):
    found = importing.compare(run, folder, TEXTS)
    assert found.same_answers == len(TEXTS)
    assert found.difference < 1e-4
    assert "3 of 3 greedy answers alike" in found.words()


def test_unknown_pieces_and_padding_are_never_said(run):
    model = run.load_model()
    bias = model.reader.output.bias
    unsaid = [run.task.target.piece(n) for n in torch.nonzero(bias < -1e3)[:, 0].tolist()]
    assert unsaid == ["<pad>", "<s>", "|"]
    assert model.encoder.embedding.table is model.reader.embedding.table


def test_the_beam_finds_what_generate_finds(run, folder):
    import transformers

    theirs = transformers.MarianMTModel.from_pretrained(folder).eval()
    marian = importing.Marian.open(folder, importing._config(folder))
    model = regard.load(run.folder)
    for text in TEXTS:
        answer = model.predict(text, max_length=9)[0]
        source = torch.tensor([[marian.rows[n] for n in run.task.encode(text)]])
        bad = [[marian.rows[0]]]
        found = theirs.generate(
            source, max_new_tokens=9, num_beams=3, bad_words_ids=bad, renormalize_logits=True
        )[0].tolist()
        ours = [marian.rows[n] for n in answer.ids]
        assert found[1 : 1 + len(ours)] == ours


def test_it_is_a_run_like_any_other(run, capsys):
    from regard.cli.main import status

    for verb in ("translate", "look"):
        assert status([verb, str(run.folder), "the dogs", "--to", "fra"]) == 0
    seen = regard.trace(run.folder, "the dogs", to="fra")
    assert seen.axes["source"].words == (">>fra<<", "the", "dogs", "</s>")
    assert {site.kind for site in seen.sites} == {"encoder-self", "decoder-self", "cross"}
    capsys.readouterr()


def test_the_studio_opens_the_folder_itself(folder):
    from contextlib import ExitStack

    from regard.cli.studio import _unpacked

    with ExitStack() as stack:
        made = _unpacked(folder, stack)
        assert made.name == folder.name
        assert regard.load(made).languages == ("fra",)
    assert not made.exists()


def test_the_command_reports_parity(folder, tmp_path, capsys):
    from regard.cli.main import status

    lines = tmp_path / "lines.txt"
    lines.write_text("\n".join(TEXTS), "utf-8")
    out = tmp_path / "mine"
    command = ["models", "import", str(folder), str(out), "--check", str(lines), "--json"]
    assert status(command) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["parity"]["same_answers"] == 3
    with pytest.raises(UsageError, match="there already"):
        importing.bring_in(folder, out)


@pytest.mark.parametrize(
    ("changes", "clause"),
    [
        ({"model_type": "t5"}, "kind 't5'"),
        ({"activation_function": "quick_gelu"}, "quick_gelu"),
        ({"share_encoder_decoder_embeddings": False}, "tables of their own"),
        ({"static_position_embeddings": False}, "positions are learned"),
        ({"tie_word_embeddings": False}, "output has a table"),
        ({"decoder_start_token_id": 0}, "begin to write with <pad>"),
        ({"encoder_layers": 3}, "layers.2"),
    ],
    ids=str,
)
def test_what_cannot_be_held_is_refused_by_its_clause(folder, tmp_path, changes, clause):
    import shutil

    other = tmp_path / "other"
    shutil.copytree(folder, other)
    config = json.loads((other / "config.json").read_text("utf-8"))
    (other / "config.json").write_text(json.dumps({**config, **changes}), "utf-8")
    with pytest.raises(ModelFileError, match=clause):
        importing.bring_in(other, tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("content", "clause"),
    [
        (spm(SOURCE, trainer=2), "by merges"),
        (spm(SOURCE, f3=0), "no space in front"),
        (spm(SOURCE, f4=0), "several spaces"),
        (spm(SOURCE)[:-3], "damaged"),
        (b"\xff" * 40, "damaged"),
    ],
    ids=["merges", "prefix", "spaces", "cut", "noise"],
)
def test_other_sentencepiece_models_are_refused(tmp_path, content, clause):
    (tmp_path / "a.spm").write_bytes(content)
    with pytest.raises(ModelFileError, match=clause):
        SentencePiece.read(tmp_path / "a.spm")


def test_such_a_vocabulary_is_not_learned():
    with pytest.raises(UsageError, match="comes with a model that is imported"):
        Codec.train(["a b"], regard.text.TextSettings(kind="sentencepiece"))


def test_what_a_comparison_needs_is_said_before_anything_is_written(
    folder, tmp_path, capsys, monkeypatch
):
    import sys

    from regard.cli.main import status

    monkeypatch.setitem(sys.modules, "transformers", None)
    (tmp_path / "lines.txt").write_text("the dogs")
    lines, out = str(tmp_path / "lines.txt"), str(tmp_path / "run")
    assert status(["models", "import", str(folder), out, "--check", lines]) == 2
    assert "regard[hf]" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()
