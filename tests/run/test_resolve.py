"""From what a person says to settings: each layer over the one before, and faults where they were made."""

import pytest

from regard.cli.main import status
from regard.config import to_toml
from regard.errors import MemoryLimitError, UsageError
from regard.presets import names
from regard.run.load import refuse_unbuildable
from regard.run.resolve import place, resolve


def test_one_change_is_a_change_to_the_usual_model():
    usual, changed = (
        resolve(toy="reverse"),
        resolve(toy="reverse", changes=["model.reader.heads=2"]),
    )
    reader = usual.model.reader.model_copy(update={"heads": 2})
    assert changed == usual.model_copy(
        update={"model": usual.model.model_copy(update={"reader": reader})}
    )
    assert changed == resolve(toy="reverse", more={"model": {"reader": {"heads": 2}}})


def test_another_kind_in_one_change_leaves_the_rest_as_usual():
    found = resolve(toy="reverse", changes=["model.reader.kind=rnn"])
    assert found.model.reader.kind == "rnn"
    assert found.model.encoder == resolve(toy="reverse").model.encoder


def test_a_whole_model_takes_nothing_from_the_usual_one():
    found = resolve(toy="stories", more={"model": {"reader": {"kind": "transformer"}}})
    assert found.model.encoder is None


def test_a_file_may_describe_a_part(tmp_path):
    path = tmp_path / "small.toml"
    path.write_text("[model.encoder]\nwidth = 24\n[model.reader]\nwidth = 24\n")
    model = resolve(toy="reverse", config=path).model
    assert (model.encoder.kind, model.encoder.width) == ("transformer", 24)


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ("modle.reader.width=3", "modle: no such setting; did you mean 'model'?"),
        ("train.steps=abc", "train.steps: must be an integer, not 'abc'"),
        (
            "model.reader.score=additve",
            "model.reader.score: no 'additve'; did you mean 'additive'?",
        ),
        ("train.schedule=cosin", "train.schedule: no 'cosin'; did you mean 'cosine'?"),
        ("model.reader.kind=rn", "model.reader: no kind 'rn'; did you mean 'rnn'?"),
    ],
)
def test_a_slip_is_told_where_it_was_made(change, what):
    with pytest.raises(UsageError) as caught:
        resolve(toy="reverse", changes=["seed=2", change])
    assert (caught.value.what, caught.value.where) == (what, f"--set {change}")


def test_files_take_the_place_of_the_toy_in_a_settings_file(tmp_path, capsys):
    """`regard config vaswani2017-small > my.toml`, then `regard train a.en a.de --config my.toml`."""
    config, files = tmp_path / "my.toml", [tmp_path / "a.en", tmp_path / "a.de"]
    for file in files:
        file.write_text("a b\nc d\n")
    config.write_text(to_toml(resolve(name="vaswani2017-small", toy="reverse"), explained=True))
    found = resolve(config=config, train=files)
    assert (found.data.toy, found.data.train) == (None, tuple(map(str, files)))
    assert status(["config", "vaswani2017-small"]) == 0
    config.write_text(capsys.readouterr().out)  # the toy's words are no way to cut a person's text
    assert (resolve(config=config).text.kind, resolve(config=config).data.toy) == (
        "word",
        "phrases",
    )
    assert resolve(config=config, train=files) == resolve(name="vaswani2017-small", train=files)
    config.write_text(to_toml(found))
    found = resolve(config=config, toy="reverse")
    assert (found.data.toy, found.data.train) == ("reverse", ())


@pytest.mark.parametrize("name", names())
def test_every_preset_can_be_built(name):
    refuse_unbuildable(resolve(name=name))


@pytest.mark.parametrize(
    ("change", "kind", "what"),
    [
        ("width=1000000000000", UsageError, "1,000,000,000,000 is more than any model has"),
        ("layers=1000000000", UsageError, "1,000,000,000 is more than any model has"),
        ("heads=3", UsageError, "width 128 does not divide into 3 heads"),
        ("feedforward=1000000000000", UsageError, "1,000,000,000,000 is more than any model has"),
        ("width=1048576", MemoryLimitError, "this model does not fit into memory"),
    ],
)
def test_what_cannot_be_built_is_refused_in_no_time(change, kind, what):  # F5
    settings = resolve(toy="reverse", changes=[f"model.encoder.{change}"])
    with pytest.raises(kind) as caught:
        refuse_unbuildable(settings)
    assert caught.value.what.startswith(what)


@pytest.mark.parametrize("change", ["blocks=1099511627776", "channels=[1099511627776]"])
def test_a_front_end_that_cannot_be_built_is_refused_in_no_time(change):
    """So many residual blocks were built one by one, until somebody stopped it."""
    settings = resolve(toy="digits", name="xu2015-soft", changes=[f"model.encoder.front.{change}"])
    with pytest.raises(UsageError, match="is more than any model has"):
        refuse_unbuildable(settings)


def test_copying_whole_words_is_for_tasks_that_number_the_unknown_ones():
    """Translation would say the unknown sign for a name, although it was told to copy."""
    words = ["text.kind=word", "model.reader.kind=rnn", "model.reader.copies=true"]
    with pytest.raises(
        UsageError, match="the task translate gives unknown words no numbers"
    ) as caught:
        refuse_unbuildable(resolve(toy="reverse", changes=words))
    assert 'task = "summarise"' in caught.value.remedy
    refuse_unbuildable(resolve(toy="headlines", changes=['task="summarise"', *words]))
    refuse_unbuildable(resolve(toy="reverse", changes=["text.kind=bpe", *words[1:]]))


def test_a_group_without_its_kind_in_a_file(tmp_path):
    path = tmp_path / "odd.toml"
    path.write_text('[model.reader]\nkind = "rnn"\n[model.encoder]\nwidth = 3\n')
    with pytest.raises(UsageError) as caught:
        resolve(toy="reverse", config=path)
    assert (caught.value.what, caught.value.where) == (
        "model.encoder: its kind is missing",
        str(path),
    )


def test_fast_is_what_a_gpu_does_best_unless_somebody_says_otherwise():
    usual = resolve(toy="reverse")
    found = usual.fast()
    assert (found.batch.packed, found.train.compile) == (True, True)
    assert found.train.precision == "bfloat16"
    assert found.model_copy(update={"batch": usual.batch, "train": usual.train}) == usual
    kept = resolve(toy="reverse", changes=["train.compile=false", "train.precision=float32"]).fast()
    assert (kept.batch.packed, kept.train) == (True, usual.train)
    kept = resolve(toy="reverse", changes=["batch.packed=false"]).fast()
    assert (kept.batch.packed, kept.train.compile) == (False, False)


@pytest.mark.parametrize(
    "told", [{"name": "bahdanau2015"}, {"toy": "stories"}], ids=["recurrent", "no pairs"]
)
def test_fast_packs_nothing_that_cannot_be_packed(told):
    found = resolve(**told).fast()
    assert not found.can_pack
    assert (found.batch.packed, found.train.compile) == (False, False)
    assert found.train.precision == "bfloat16"


def test_a_run_that_goes_on_keeps_what_it_decided(tmp_path):
    written = resolve(toy="reverse")
    path = tmp_path / "config.toml"
    path.write_text(to_toml(written))
    assert place([tmp_path], None)[1].fast() == written


def three_kinds(folder):
    """A table with a sentence, a picture, a sound and features, and what they become."""
    for name in ("a.png", "b.wav", "c.npz"):
        (folder / name).write_bytes(b"nothing is read of it yet")
    table = folder / "all.tsv"
    table.write_text("en\tpicture\tvoice\tfar\tde\n" + "a dog\ta.png\tb.wav\tc.npz\tein Hund\n" * 3)
    sources = ["en", "picture", "voice", "far"]
    return {"train": [table], "more": {"data": {"sources": sources, "target": "de"}}}


def test_pictures_and_sounds_among_several_sources_are_read_by_encoders_for_them(tmp_path):
    settings = resolve(**three_kinds(tmp_path), changes=["model.encoder.width=24"])
    own = settings.model.encoders
    assert list(own) == ["picture", "voice"]  # a text and features have the encoder of the preset
    assert (own["picture"].front.kind, own["picture"].width) == ("convolution", 24)
    assert (own["voice"].kind, own["voice"].pyramid, own["voice"].width) == ("rnn", 2, 24)
    assert settings.batch.max_length == settings.batch.tokens


def test_an_encoder_that_somebody_chose_for_a_source_stays(tmp_path):
    given = three_kinds(tmp_path)
    chosen = {"picture": {"kind": "transformer", "width": 8, "front": {"kind": "patches"}}}
    more = {**given.pop("more"), "model": {"encoders": chosen}, "batch": {"max_length": 700}}
    settings = resolve(**given, more=more)
    assert settings.model.encoders["picture"].front.kind == "patches"
    assert settings.batch.max_length == 700
    whole = {**more, "model": {"encoder": {"kind": "rnn"}, "reader": {"kind": "rnn"}}}
    assert resolve(**given, more=whole).model.encoders == {}
