"""BERT and GPT-2 folders brought in as runs: the same ids, numbers and answers, or a clause; and back."""

import json
import shutil

import pytest
import torch
from tokenizers import (
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)

import regard
from regard.errors import ModelFileError, UsageError
from regard.interop import exporting, importing
from regard.run.folder import Run
from regard.text import Codec, TextSettings
from tests.interop.test_exporting import SMALL, made

WORDS = ["the", "dog", "dogs", "run", "##s", "##ning", "a", "cat", ",", ".", "'", "t", "don", "ate"]
WORDS += ["élan", "naïve", "mouse", "水", "and", "with", "out"]
LINES = [
    "the dogs run, don't run.",
    "The CAT ate a mouse",
    "naïve élan 水水 with cats  and\tdogs!",
    "a",
]


def transformers():
    import transformers as library

    return library


def grown(model, by=0.15):
    """Drawn numbers that are large enough for answers to differ."""
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter), alpha=by)
    return model.eval()


@pytest.fixture(scope="module")
def bert(tmp_path_factory):
    library, place = transformers(), tmp_path_factory.mktemp("bert")
    names = ["[PAD]", "[unused0]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS]
    names += [f"##{letter}" for letter in "abcdefghijklmnopqrstuvwxyz"] + list("abcde!?")
    ids = {name: number for number, name in enumerate(dict.fromkeys(names))}
    own = Tokenizer(models.WordPiece(ids, unk_token="[UNK]"))
    own.normalizer, own.pre_tokenizer = (
        normalizers.BertNormalizer(),
        pre_tokenizers.BertPreTokenizer(),
    )
    own.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", ids["[CLS]"]), ("[SEP]", ids["[SEP]"])]
    )
    library.PreTrainedTokenizerFast(
        tokenizer_object=own,
        mask_token="[MASK]",
        pad_token="[PAD]",
        unk_token="[UNK]",
    ).save_pretrained(place)
    torch.manual_seed(7)
    config = library.BertConfig(
        vocab_size=len(ids),
        hidden_size=24,
        num_hidden_layers=2,
        num_attention_heads=3,
        intermediate_size=40,
        max_position_embeddings=31,
        layer_norm_eps=1e-12,
    )
    grown(library.BertForMaskedLM(config)).save_pretrained(place)
    return place


@pytest.fixture(scope="module")
def gpt2(tmp_path_factory):
    library, place = transformers(), tmp_path_factory.mktemp("gpt2")
    own = Tokenizer(models.BPE())
    own.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(
        vocab_size=300,
        show_progress=False,
        special_tokens=["<|endoftext|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    )
    own.train_from_iterator(LINES * 3, trainer)
    own.decoder = decoders.ByteLevel()
    library.PreTrainedTokenizerFast(
        tokenizer_object=own, eos_token="<|endoftext|>"
    ).save_pretrained(place)
    torch.manual_seed(8)
    config = library.GPT2Config(
        vocab_size=own.get_vocab_size(),
        n_embd=24,
        n_layer=2,
        n_head=3,
        n_positions=64,
        bos_token_id=0,
        eos_token_id=0,
    )
    grown(library.GPT2LMHeadModel(config)).save_pretrained(place)
    return place


@pytest.mark.parametrize("name", ["bert", "gpt2"])
def test_ids_numbers_and_answers_are_those_of_the_folder(name, request, tmp_path):
    folder = request.getfixturevalue(name)
    run = importing.bring_in(folder, tmp_path / "mine")
    found = importing.compare(run, folder, LINES)
    assert found.same_ids == found.same_answers == len(LINES)
    assert found.difference < 1e-4
    assert found.difference > 0  # two libraries, two orders of sums


@pytest.mark.parametrize("task", ["tag", "classify"])
def test_its_encoder_and_pieces_begin_a_model_that_labels(task, bert, tmp_path):
    """Their vocabulary cannot be learned, and need not be: only labels are."""
    origin = importing.bring_in(bert, tmp_path / "mine")
    rows = {
        "tag": ["the\tDET", "dogs\tNOUN", "", "a\tDET", "cat\tNOUN"],
        "classify": ["a cat\tgood", "the dogs\tbad"],
    }[task]
    lines = tmp_path / ("lines.conll" if task == "tag" else "lines.tsv")
    lines.write_text("\n".join(rows) + "\n", "utf-8")
    once = {"steps": 1, "rate": 1e-9, "evaluate_examples": 0, "workers": 0}
    regard.train(
        lines,
        valid=lines,
        start_from=origin.folder,
        out=tmp_path / "run",
        task=task,
        settings={"train": once},
        device="cpu",
        listener=regard.Listener(),
    )
    run = Run.open(tmp_path / "run")
    assert run.task.source.to_json() == origin.task.source.to_json()
    assert run.task.labels.size == 2
    before, after = origin.load_model().state_dict(), run.load_model().state_dict()
    names = [name for name in before if name.startswith("encoder.")]
    assert names
    for name in names:
        torch.testing.assert_close(after[name], before[name], atol=1e-6, rtol=0)


def test_a_masked_word_is_filled_in_as_their_pipeline_would(bert, tmp_path):
    library = transformers()
    run = importing.bring_in(bert, tmp_path / "mine")
    tokenizer = library.AutoTokenizer.from_pretrained(bert)
    theirs = library.BertForMaskedLM.from_pretrained(bert).eval()
    given = tokenizer("the [MASK] ate a mouse", return_tensors="pt")
    hidden = (given["input_ids"][0] == tokenizer.mask_token_id).nonzero().item()
    with torch.no_grad():
        best = theirs(given["input_ids"]).logits[0, hidden].topk(12).indices.tolist()
    specials = {
        tokenizer.convert_tokens_to_ids(one) for one in ("[PAD]", "[CLS]", "[SEP]", "[MASK]")
    }
    name = next(tokenizer.convert_ids_to_tokens(n) for n in best if n not in specials)
    model = regard.load(run.folder)
    answer = model.predict("the <mask> ate a mouse")[0]
    piece = name.removeprefix("##") if name.startswith("##") else f"▁{name}"
    assert answer.symbols == (piece,) or name == "[UNK]"
    seen = regard.trace(run.folder, "the <mask> ate a mouse")
    assert seen.axes["source"].pieces[0] == "<s>"
    assert seen.axes["source"].pieces[-1] == "</s>"
    assert len(seen.sites) == 2


def test_a_text_is_continued_as_generate_does(gpt2, tmp_path):
    library = transformers()
    run = importing.bring_in(gpt2, tmp_path / "mine")
    tokenizer = library.AutoTokenizer.from_pretrained(gpt2)
    theirs = library.GPT2LMHeadModel.from_pretrained(gpt2).eval()
    ids = torch.tensor([[0, *tokenizer("the dogs")["input_ids"]]])
    found = theirs.generate(
        ids, attention_mask=torch.ones_like(ids), max_new_tokens=12, do_sample=False, pad_token_id=0
    )[0].tolist()[1:]
    said = found[: found.index(0)] if 0 in found else found
    answer = regard.load(run.folder).predict("the dogs", max_length=12)[0]
    assert answer.text == tokenizer.decode(said)


def test_pieces_that_end_within_a_character_are_bytes(gpt2, tmp_path):
    codec = importing.bring_in(gpt2, tmp_path / "mine").task.target
    for text in (*LINES, "  two  spaces ", "naïve 水 \U0001f98a", "tab\tand\nline"):
        assert codec.decode(codec.encode(text)) == text
        assert Codec.from_json(codec.to_json()).encode(text) == codec.encode(text)
    assert codec.explain("the dogs").words == ("the", "dogs")


def test_frames_are_never_hidden_and_every_text_has_one(bert, tmp_path):
    from regard.data.example import Line

    task = importing.bring_in(bert, tmp_path / "mine").task
    rows = task.rows([Line("the dogs run"), Line("a cat")])
    assert all(row["source"][0] == 1 and row["source"][-1] == 2 for row in rows)
    batch = task.collate(rows, 9, 9)
    asked = batch.targets != -100
    assert asked.any()
    assert not (asked & (batch.targets <= 2)).any()


FOLDERS = {
    "bert with BERT's tokenizer": "bert",
    "gpt2 with GPT-2's tokenizer": "gpt2",
}


@pytest.mark.parametrize("name", FOLDERS)
def test_what_was_brought_in_goes_out_again(name, request, tmp_path):
    folder = request.getfixturevalue(FOLDERS[name])
    run = importing.bring_in(folder, tmp_path / "mine")
    texts = ["the <mask> ate a mouse"] if FOLDERS[name] == "bert" else LINES[:2]
    parity = exporting.export(run, "huggingface", tmp_path / "out", texts)
    assert parity.holds, parity.words()
    again = importing.bring_in(tmp_path / "out", tmp_path / "again")
    same_model(run, again, texts[0])


OURS = {
    "language": ("language", None, {"position": "learned"}),
    "tagger": ("tag", {"norm": "post", "embedding_norm": True, "activation": "gelu"}, None),
    "masked words": ("fill", {"norm": "post", "embedding_norm": True, "activation": "gelu"}, {}),
    "masked words with a transform": (
        "fill",
        {"norm": "post", "embedding_norm": True, "activation": "gelu"},
        {"transform": "gelu"},
    ),
}


@pytest.mark.parametrize("name", OURS)
def test_export_then_import_gives_the_same_answers(name, tmp_path):
    task, encoder, reader = OURS[name]
    stack = None if encoder is None else SMALL | encoder
    own = SMALL | reader if stack is None else {"kind": "tag", **(reader or {})}
    run = made(tmp_path / "run", task, stack, own)
    texts = exporting.questions(run, 3)
    assert exporting.export(run, "huggingface", tmp_path / "out", texts).holds
    again = importing.bring_in(tmp_path / "out", tmp_path / "again")
    assert again.settings.task == task
    assert importing.compare(again, tmp_path / "out", texts).same_answers == len(texts)
    same_model(run, again, texts[0])


def same_model(run, again, text):
    """The same answer, and the same probability of it."""
    loaded = (regard.load(each.folder) for each in (run, again))
    one, two = (model.predict(text, beam=1, max_length=8)[0] for model in loaded)
    assert one.text == two.text
    assert one.symbols == two.symbols
    assert one.log_probabilities == pytest.approx(two.log_probabilities, abs=1e-4)


@pytest.mark.parametrize(
    ("name", "changes", "clause"),
    [
        ("bert", {"architectures": ["BertModel"]}, "no head that names words"),
        ("bert", {"position_embedding_type": "relative_key"}, "positions are relative"),
        ("bert", {"is_decoder": True}, "it is a decoder"),
        ("bert", {"hidden_act": "quick_gelu"}, "quick_gelu"),
        ("bert", {"num_hidden_layers": 3}, "layer.2"),
        ("bert", {"architectures": ["BertForTokenClassification"]}, "not one of ours"),
        ("bert", {"intermediate_size": 41}, "another size"),
        ("gpt2", {"scale_attn_by_inverse_layer_idx": True}, "number of their layer"),
        ("gpt2", {"scale_attn_weights": False}, "not scaled"),
        ("gpt2", {"add_cross_attention": True}, "attention to another"),
        ("gpt2", {"architectures": ["GPT2ForSequenceClassification"]}, "no head that says"),
    ],
    ids=str,
)
def test_what_cannot_be_held_is_refused_by_its_clause(name, changes, clause, request, tmp_path):
    other = tmp_path / "other"
    shutil.copytree(request.getfixturevalue(name), other)
    config = json.loads((other / "config.json").read_text("utf-8"))
    (other / "config.json").write_text(json.dumps({**config, **changes}), "utf-8")
    with pytest.raises(ModelFileError, match=clause):
        importing.bring_in(other, tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("name", "part", "changes", "clause"),
    [
        ("bert", "normalizer", {"strip_accents": False}, "accents otherwise"),
        ("bert", "normalizer", {"handle_chinese_chars": False}, "Chinese"),
        ("bert", "pre_tokenizer", {"type": "Whitespace"}, "another way"),
        ("gpt2", "pre_tokenizer", {"add_prefix_space": True}, "space in front"),
        ("gpt2", "pre_tokenizer", {"type": "Whitespace"}, "merge bytes"),
    ],
    ids=str,
)
def test_other_tokenizers_are_refused(name, part, changes, clause, request, tmp_path):
    other = tmp_path / "other"
    shutil.copytree(request.getfixturevalue(name), other)
    whole = json.loads((other / "tokenizer.json").read_text("utf-8"))
    whole[part] = {**whole[part], **changes}
    (other / "tokenizer.json").write_text(json.dumps(whole), "utf-8")
    with pytest.raises(ModelFileError, match=clause):
        importing.bring_in(other, tmp_path / "out")


@pytest.mark.parametrize("kind", ["wordpiece", "byte-bpe"])
def test_such_vocabularies_are_not_learned(kind):
    with pytest.raises(UsageError, match="comes with a model that is imported"):
        Codec.train(["a b"], TextSettings(kind=kind))
