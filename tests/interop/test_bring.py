"""A model that somebody brings gives the same trace as ours: tokens with words, attentions, its answer."""

import json
import re

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

import regard
from regard.errors import ModelFileError, UsageError
from regard.interop import tokens
from regard.interop.bring import Brought
from regard.show.notebook import head_view, model_view, neuron_view
from tests.interop import kit

PIECES = [
    "<s>",
    "<pad>",
    "</s>",
    "<unk>",
    "[SEP]",
    "dog",
    "##s",
    "play",
    "##ing",
    "the",
    "cat",
    "a",
]


def fast(kind, **more):
    from transformers import PreTrainedTokenizerFast

    return PreTrainedTokenizerFast(
        tokenizer_object=kind,
        bos_token="<s>",
        pad_token="<pad>",
        eos_token="</s>",
        unk_token="<unk>",
        **more,
    )


def word_pieces():
    names = [*PIECES, *(f"w{n}" for n in range(len(PIECES), kit.VOCABULARY))]
    kind = Tokenizer(models.WordPiece({name: n for n, name in enumerate(names)}, unk_token="<unk>"))
    kind.normalizer = normalizers.Lowercase()
    kind.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    kind.decoder = decoders.WordPiece()
    kind.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>",
        pair="<s> $A </s> $B:1 </s>:1",
        special_tokens=[("<s>", 0), ("</s>", 2)],
    )
    return fast(kind)


def byte_level():
    alphabet = ["<s>", "<pad>", "</s>", "<unk>", *sorted(pre_tokenizers.ByteLevel.alphabet())]
    names = [*alphabet, "Ġd", "og", "Ġdog"]
    merges = [("Ġ", "d"), ("o", "g"), ("Ġd", "og")]
    kind = Tokenizer(models.BPE({name: n for n, name in enumerate(names)}, merges))
    kind.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    kind.decoder = decoders.ByteLevel()
    return fast(kind)


def test_words_of_pieces_as_they_were_written():
    tokenizer = word_pieces()
    found = tokens.read(tokenizer, tokenizer("The Dogs!", return_tensors="pt"), ["The Dogs!"])
    assert found.pieces == ("<s>", "the", "dog", "##s", "<unk>", "</s>")
    assert found.words == ("<s>", "The", "Dogs", "!", "</s>")
    assert found.word_ids == (0, 1, 2, 2, 3, 4)
    again = tokens.written(tokenizer, [0, 9, 5, 6, 7, 8, 2])
    assert again.words == ("<s>", "the", "dogs", "playing", "</s>")


def test_bytes_of_a_character_are_one_word():
    tokenizer = byte_level()
    text = "a dog né"
    encoding = tokenizer(text, return_tensors="pt")
    for found in (
        tokens.read(tokenizer, encoding, [text]),
        tokens.written(tokenizer, encoding["input_ids"][0].tolist()),
    ):
        assert found.words == ("a", "dog", "né")
        assert found.pieces[:2] == ("a", "▁dog")
        assert found.word_ids[0] == 0
        assert set(found.word_ids[2:]) == {2}


def test_an_encoder_reads_a_pair():
    model, _, _ = kit.made("bert")
    seen = regard.trace(model, word_pieces(), "the dogs", "a cat")
    axis = seen.axes["source"]
    assert axis.words == ("<s>", "the", "dogs", "</s>", "a", "cat", "</s>")
    assert axis.pieces[5] == "┃a"
    assert [site.layer for site in seen.sites] == [0, 1]
    assert {site.kind for site in seen.sites} == {"encoder-self"}
    for site in seen.sites:
        assert site.width == 4
        np.testing.assert_allclose(site.weights.sum(-1), 1, atol=1e-6)
        sums = site.contributions_of(1, 2).sum(-1)
        np.testing.assert_allclose(sums, site.scores[1, 2], atol=1e-5)


@pytest.mark.parametrize("name", ["marian", "bart", "t5", "nllb"])
@pytest.mark.parametrize("same", [False, True])
def test_a_translation_is_replayed_as_it_was_found(name, same):
    model, _, count = kit.made(name)
    tokenizer = word_pieces()
    given = "w20 w21 w22 w23" if same else "the dogs playing a cat"
    seen = regard.trace(model, tokenizer, given, beam=2, most=5)
    inputs = tokenizer(given, return_tensors="pt")
    expected = model.generate(**inputs, num_beams=2, max_new_tokens=5, do_sample=False)[0].tolist()
    assert [step.id for step in seen.steps] == expected[1:]
    kinds = [site.kind for site in seen.sites]
    assert len(kinds) == count
    decoders_ = (count - 2) // 2
    assert kinds.count("encoder-self") == 2
    assert kinds.count("decoder-self") == kinds.count("cross") == decoders_
    for site in seen.sites:
        assert (len(seen.axes[site.queries]), len(seen.axes[site.keys])) == site.weights.shape[1:]
    with torch.no_grad():
        logits = model(**inputs, decoder_input_ids=torch.tensor([expected[:-1]])).logits[0]
    chances = logits.double().log_softmax(-1)
    for step, row in zip(seen.steps, chances, strict=True):
        assert abs(step.log_probability - float(row[step.id])) < 1e-5
    assert seen.site().kind == "cross"


def test_two_models_made_one_write_no_further_than_the_decoder_has_positions():
    """The configuration of the whole says no number of positions: it wrote past the last, and failed."""
    import transformers as hf

    sides = [
        hf.BertConfig(**{**kit.SIZES, "max_position_embeddings": 24}, **more)
        for more in ({}, {"is_decoder": True, "add_cross_attention": True})
    ]
    config = hf.EncoderDecoderConfig.from_encoder_decoder_configs(*sides)
    config.decoder_start_token_id, config.pad_token_id, config.eos_token_id = 0, 1, None
    torch.manual_seed(7)
    seen = regard.trace(hf.EncoderDecoderModel(config=config), word_pieces(), "the dogs playing")
    assert len(seen.steps) == 22
    assert [site.kind for site in seen.sites].count("cross") == 2


def test_sizes_alike_do_not_confuse_who_looks_at_whom():
    """As many symbols written as read: sizes say nothing, and the roles are still right."""
    model, _, _ = kit.made("marian")
    tokenizer = word_pieces()
    seen = regard.trace(model, tokenizer, "the dogs", answer="the dogs")
    assert {len(axis) for axis in seen.axes.values()} == {5}
    assert [site.kind for site in seen.sites] == [
        "encoder-self",
        "encoder-self",
        "decoder-self",
        "cross",
    ]


@pytest.mark.parametrize("most", [0, 3])
def test_a_language_model_goes_on_and_is_replayed(most):
    model, _, _ = kit.made("gpt2")
    seen = regard.trace(model, word_pieces(), "the dogs", most=most)
    assert {site.kind for site in seen.sites} == {"decoder-self"}
    assert sum(not step.given for step in seen.steps) == most
    assert seen.sites[0].weights.shape[1] == 5 + max(0, most - 1)
    assert (np.triu(seen.sites[0].weights, 1) == 0).all()


def test_a_label_is_the_answer():
    import transformers

    config = transformers.BertConfig(**kit.SIZES, num_labels=3, id2label={0: "x", 1: "y", 2: "z"})
    model = transformers.BertForSequenceClassification(config).eval()
    seen = regard.trace(model, word_pieces(), "the dogs")
    assert seen.answer.text in "xyz"
    assert {text for text, _ in seen.answer.alternatives} == {"x", "y", "z"}


def test_layers_that_share_a_module_are_seen_each():
    import transformers

    config = transformers.AlbertConfig(**{**kit.SIZES, "embedding_size": 12})
    seen = regard.trace(transformers.AlbertModel(config).eval(), word_pieces(), "the dogs")
    assert [site.layer for site in seen.sites] == [0, 1]
    assert seen.sites[0].path + "#2" == seen.sites[1].path


def test_a_folder_is_opened_and_looked_into(tmp_path, capsys):
    from regard.cli.main import status

    model, _, _ = kit.made("bert")
    folder = tmp_path / "tiny"
    model.save_pretrained(folder)
    word_pieces().save_pretrained(folder)
    seen = regard.trace(folder, "the dogs", second="a cat")
    assert seen.model == "tiny"
    assert len(seen.sites) == 2
    assert status(["look", str(folder), "the dogs", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["axes"]["source"]["words"] == ["<s>", "the", "dogs", "</s>"]
    assert status(["look", str(folder), "the dogs", "--numbers"]) == 0
    seen.save(tmp_path / "a.npz")
    assert len(regard.Trace.load(tmp_path / "a.npz").sites) == 2
    (folder / "model.safetensors").unlink()
    with pytest.raises(ModelFileError, match="transformers cannot open"):
        Brought.open(folder)


def test_a_vocabulary_that_needs_another_library_names_it(tmp_path, monkeypatch):
    """It said that a Marian configuration is unknown, and to save the folder once more."""
    kit.made("marian")[0].save_pretrained(tmp_path)
    (tmp_path / "source.spm").write_bytes(b"")
    monkeypatch.setattr("regard.interop.bring.find_spec", lambda _: None)
    with pytest.raises(ModelFileError, match="is read by the library sentencepiece") as e:
        Brought.open(tmp_path)
    assert "regard[hf]" in e.value.remedy


def test_the_calls_of_bertviz(tmp_path):
    model, _, _ = kit.made("bert", "eager")
    tokenizer = word_pieces()
    inputs = tokenizer("the dogs", "a cat", return_tensors="pt")
    attention = model(**inputs, output_attentions=True).attentions
    names = tokenizer.convert_ids_to_tokens(inputs["input_ids"][0])
    assert "the" in head_view(attention, names, 5, html_action="return").data
    assert neuron_view(
        model, "bert", tokenizer, "the dogs", "a cat", layer=1, head=2, html_action="return"
    )
    assert neuron_view.show(
        model, "bert", tokenizer, "the dogs", display_mode="light", html_action="return"
    )
    known, _, _ = kit.made("mpnet")
    with pytest.raises(UsageError, match="no queries and keys"):
        neuron_view(known, "mpnet", tokenizer, "the dogs", html_action="return")


def test_the_calls_of_bertviz_for_an_encoder_and_a_decoder():
    model, inputs, _ = kit.made("t5", "eager")
    inputs = {name: value[:1] for name, value in inputs.items()}
    output = model(**inputs, output_attentions=True)
    names = word_pieces().convert_ids_to_tokens
    shown = model_view(
        encoder_attention=output.encoder_attentions,
        decoder_attention=output.decoder_attentions,
        cross_attention=output.cross_attentions,
        encoder_tokens=names(inputs["input_ids"][0]),
        decoder_tokens=names(inputs["decoder_input_ids"][0]),
        include_layers=[1],
        include_heads=[2, 0],
        html_action="return",
    )
    found = json.loads(re.search(r'id="description">(.*?)</script>', shown.data, re.S)[1])
    sites = found["trace"]["sites"]
    assert [(one["kind"], one["layer"], one["shape"]) for one in sites] == [
        ("encoder-self", 1, [2, 7, 7]),
        ("decoder-self", 1, [2, 5, 5]),
        ("cross", 1, [2, 5, 7]),
    ]


def test_what_is_missing_is_said():
    model, _, _ = kit.made("bert")
    with pytest.raises(UsageError, match="needs its tokenizer"):
        regard.trace(model, "the dogs")
    with pytest.raises(UsageError, match="no attention was seen"):
        Brought(torch.nn.Linear(2, 2), word_pieces())._sites(*_nothing(), {}, None)


def _nothing():
    from regard.attention.watch import Seen
    from regard.interop.recorder import Recorder

    return (Recorder({torch.nn.Linear(2, 2): "x"}, Seen(), called=True),)
