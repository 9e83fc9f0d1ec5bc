"""Several sources: read from files, in any combination, one of them missing, and the same however batched."""

import json

import numpy as np
import pytest
import torch

import regard
from regard.config import parse
from regard.data.example import Columns
from regard.data.formats.beside import Beside, column_names
from regard.data.source import understand
from regard.data.tally import Tally
from regard.data.toys import toy
from regard.decode import DecodeSettings
from regard.errors import DataError, RegardError, UsageError
from regard.models import ModelSettings, build
from regard.models.encoder import Padded
from regard.models.model import _some_left_out
from regard.question import Image, Question, Sound
from regard.tasks.multisource import Multisource
from regard.text import TextSettings
from regard.traces.trace import Trace, look_inside

KINDS = {
    "rnn": {"kind": "rnn", "width": 14, "dropout": 0.0},
    "transformer": {
        **{"kind": "transformer", "width": 14, "dropout": 0.0},
        **{"layers": 2, "heads": 2, "feedforward": 11},
    },
}
COMBINATIONS = ("flat", "parallel", "serial", "hierarchical")
GREEDY = DecodeSettings(beam=1, max_length=7)


def examples(count=23):
    return list(toy("witnesses").examples("train", count))


@pytest.fixture(scope="module")
def task():
    return Multisource.learn(lambda: iter(examples()), TextSettings(kind="word"))


def made(task, kind, combine, **more):
    side = KINDS[kind]
    tree = {"encoder": side, "reader": {**side, "combine": combine}, **more}
    torch.manual_seed(5)
    model = build(parse(ModelSettings, tree), task.sizes).eval()
    for parameter in model.parameters():  # away from where biases are 0 and scores even
        parameter.data += 0.1 * torch.randn_like(parameter)
    return model


def questions():
    full = [one.question for one in examples(4)]
    return [
        full[0],
        Question({"ben": full[1].sources["ben"]}),
        full[2],
        Question({"anna": "saw the ..."}),
    ]


@pytest.mark.parametrize("combine", COMBINATIONS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_row_says_the_same_alone_and_beside_others_even_with_a_source_missing(
    task, kind, combine
):
    model, rows = made(task, kind, combine), []
    for question in questions():
        rows.append({**task.encode(question), "target": np.array([5, 7, 2], np.int32)})
    together = task.logits(model, task.collate(rows, 31, 5))
    assert torch.isfinite(together).all()
    for number, row in enumerate(rows):
        alone = task.logits(model, task.collate([row], 1, 3))
        assert torch.allclose(together[number, :3], alone[0], atol=1e-5), (kind, combine, number)


@pytest.mark.parametrize("combine", COMBINATIONS)
@pytest.mark.parametrize("kind", KINDS)
def test_forced_is_stepped_and_the_look_sees_every_source_that_is_there(task, kind, combine):
    model = made(task, kind, combine)
    for question in questions():
        trace = look_inside(task, model, question, GREEDY)
        stepped = task.predict(model, [question], GREEDY)[0]
        forced = [step.log_probability for step in trace.steps]
        assert np.allclose(
            forced[: len(stepped.ids)], stepped.log_probabilities[: len(stepped.ids)], atol=1e-4
        )
        faced = {
            site.keys for site in trace.sites if site.queries == "target" and site.kind == "cross"
        }
        assert faced == set(question.sources)
        for site in trace.sites:
            sums = site.weights.sum(-1)
            if "[" not in site.path:
                assert np.allclose(sums, 1, atol=1e-5), site.path
        ribbons = {one.name: one.values for one in trace.ribbons}
        if combine in ("flat", "hierarchical"):
            total = np.sum(list(ribbons.values()), 0)
            assert np.allclose(total, 1, atol=1e-5)
            for name in {"anna", "ben"} - set(question.sources):
                assert np.allclose(ribbons.get(f"share of {name}", 0), 0)
        else:
            assert not ribbons, "sources that do not compete have no shares"


def test_a_source_that_is_missing_cannot_be_seen_whatever_lies_in_its_padding(task):
    for kind in KINDS:
        for combine in COMBINATIONS:
            model = made(task, kind, combine)
            row = {**task.encode(questions()[1]), "target": np.array([5, 7, 2], np.int32)}
            batch = task.collate([row, row], 9, 3)
            before = task.logits(model, batch)
            batch.sources["anna"].values.fill_(6)
            assert torch.equal(before, task.logits(model, batch)), (kind, combine)


def test_shared_encoders_have_the_same_weights_and_sites_of_their_own(task):
    for kind in KINDS:
        own, shared = (
            made(task, kind, "parallel", share_encoders=share) for share in (False, True)
        )
        assert regard.count_parameters(shared) < regard.count_parameters(own)
        first, second = shared.sources["anna"], shared.sources["ben"]
        pairs = zip(first.parameters(), second.parameters(), strict=True)
        assert all(one is other for one, other in pairs)
        if kind == "transformer":
            sites = [one.blocks[0].attention.attention.site.keys for one in (first, second)]
            assert sites == ["anna", "ben"]


def test_one_vocabulary_is_one_table_of_vectors(task):
    model = made(task, "transformer", "flat")
    tables = {id(model.sources[name].embedding.table.weight) for name in task.sources}
    assert tables == {id(model.reader.embedding.table.weight)}
    apart = made(task, "transformer", "flat", share_embedding=False)
    assert len({id(apart.sources[name].embedding.table.weight) for name in task.sources}) == 2


def test_source_dropout_leaves_each_row_at_least_one_of_its_sources():
    torch.manual_seed(3)
    lengths = {"a": torch.tensor([3, 0, 2, 5] * 500), "b": torch.tensor([4, 1, 0, 5] * 500)}
    values = torch.zeros(2000, 5, dtype=torch.long)
    kept = _some_left_out({name: Padded(values, own) for name, own in lengths.items()}, 0.4)
    left = {name: kept[name].lengths for name in kept}
    assert ((left["a"] > 0) | (left["b"] > 0)).all()
    both = (lengths["a"] > 0) & (lengths["b"] > 0)
    gone = ((left["a"] == 0) & both).sum() / both.sum()
    # 0.4 x 0.6 alone, and half of the 0.4 x 0.4 where both would go: 0.32
    assert 0.27 < gone < 0.37
    for name in kept:
        assert ((left[name] == lengths[name]) | (left[name] == 0)).all()


@pytest.mark.parametrize("shared", [True, False])
def test_the_task_is_the_same_after_it_was_written_and_read(shared):
    task = Multisource.learn(lambda: iter(examples()), TextSettings(kind="word", shared=shared))
    again = Multisource.from_dict(task.to_dict())
    assert again.sources == ("anna", "ben")
    assert again.sizes == task.sizes
    assert again.sizes.shared is shared
    for one, other in zip(task.rows(examples(3)), again.rows(examples(3)), strict=True):
        assert all(np.array_equal(one[name], other[name]) for name in one)


def test_questions_name_their_sources_and_may_leave_some_out(task):
    assert task.ask('{"anna": "the king", "ben": null}').sources == {"anna": "the king"}
    with pytest.raises(UsageError, match="this model reads anna, ben"):
        task.ask(Question({"carl": "x"}))
    with pytest.raises(UsageError, match="JSON object"):
        task.ask("the king")
    for nothing in ("{}", '{"anna": null}'):
        with pytest.raises(UsageError, match="at least one of its sources: anna, ben"):
            task.encode(nothing)
    assert task.predict(made(task, "rnn", "flat"), ['{"anna": ""}'], GREEDY)[0].text == ""


def written(folder, **files):
    paths = []
    for name, lines in files.items():
        (folder / name.replace("_", ".")).write_text("".join(f"{line}\n" for line in lines))
        paths.append(folder / name.replace("_", "."))
    return paths


def test_files_side_by_side_are_ordered_by_the_names_of_their_columns(tmp_path):
    en, de, fr = written(
        tmp_path, t_en=["a b", "", "c"], t_de=["A B", "B", ""], t_fr=["x", "y", "z"]
    )
    assert column_names([en, de, fr]) == ("en", "de", "fr")
    columns = Columns(("en", "de"), "fr")
    for paths in ([en, de, fr], [fr, en, de]):
        source = understand(paths, columns=columns)
        assert isinstance(source.parts[0], Beside)
        rows = [(one.question.sources, one.target) for one in source.examples()]
        assert rows == [({"en": "a b", "de": "A B"}, "x"), ({"de": "B"}, "y"), ({"en": "c"}, "z")]
    assert "fr is written" in source.describe(3)
    fr.write_text("x\ny\n")
    with pytest.raises(DataError, match="has 3"):
        list(understand([en, de, fr], columns=columns).examples())


def test_named_columns_of_tables_and_json_lines(tmp_path):
    columns = Columns(("en", "picture", "voice"), "fr")
    (tmp_path / "x").mkdir()
    for name in ("dog.jpg", "x/a.WAV"):
        (tmp_path / name).touch()
    (table,) = written(
        tmp_path, t_tsv=["id\ten\tpicture\tvoice\tfr", "1\ta\tdog.jpg\tx/a.WAV\tz", "2\tb\t\t\t"]
    )
    lines = [
        json.dumps({"en": "a", "picture": "dog.jpg", "voice": "x/a.WAV", "fr": "z"}),
        '{"en": "b", "fr": null}',
    ]
    (objects,) = written(tmp_path, t_jsonl=lines)
    for path in (table, objects):
        tally = Tally()
        (one,) = understand([path], columns=columns).examples(tally)
        assert tally.dropped == {"empty": 1}
        assert one.target == "z"
        picture, voice = one.question.sources["picture"], one.question.sources["voice"]
        assert isinstance(picture, Image)
        assert isinstance(voice, Sound)
        assert picture.data == str(tmp_path / "dog.jpg")
        assert voice.data == str(tmp_path / "x/a.WAV")
    with pytest.raises(DataError, match="no column 'de'"):
        understand([table], columns=Columns(("de",), "fr"))
    with pytest.raises(UsageError, match="2 columns"):
        understand(written(tmp_path, plain_txt=["a"]), columns=Columns(("de",), "fr"))


def test_a_cell_is_a_file_when_it_names_one_and_a_row_whose_file_is_gone_is_counted(tmp_path):
    columns = Columns(("en", "seen"), "fr")
    (tmp_path / "my dog.jpg").touch()
    (tmp_path / "cells.npz").touch()
    rows = ["a\tmy dog.jpg\tx", "open logo.png\tcells.npz\ty", "b\tgone.png\tz", "\tgone.wav\tz"]
    (table,) = written(tmp_path, t_tsv=["en\tseen\tfr", *rows])
    tally = Tally()
    first, second = understand([table], columns=columns).examples(tally)
    assert first.question.sources["seen"].data == str(tmp_path / "my dog.jpg")
    assert second.question.sources["en"] == "open logo.png"
    assert second.question.sources["seen"].data == str(tmp_path / "cells.npz")
    assert tally.dropped == {"no such picture": 1, "no such sound": 1}


@pytest.mark.parametrize("bad", [("En",), ("a b",), ("target",), ("x", "x"), ("fr",)])
def test_names_of_sources_are_names(bad):
    with pytest.raises(RegardError):
        Columns(bad, "fr")


def test_from_two_files_to_a_third_by_one_command(tmp_path, capsys):
    from regard.cli.main import status as main

    some = examples(60)
    sides = {name: [one.question.sources[name] for one in some] for name in ("anna", "ben")}
    anna, ben, both = written(
        tmp_path, t_anna=sides["anna"], t_ben=sides["ben"], t_both=[one.target for one in some]
    )
    run = str(tmp_path / "run")
    tiny = [
        f"model.{side}.{size}" for side in ("encoder", "reader") for size in ("width=8", "layers=1")
    ]
    tiny += [
        "train.steps=3",
        "train.evaluate_every=3",
        "text.kind=word",
        "train.evaluate_examples=2",
    ]
    changes = [word for one in tiny for word in ("--set", one)]
    assert main(["data", str(anna), str(ben), "--to", str(both)]) == 0
    assert "task: multisource" in capsys.readouterr().out
    assert (
        main(
            [
                "train",
                str(anna),
                str(ben),
                "--to",
                str(both),
                "--out",
                run,
                "--device",
                "cpu",
                *changes,
            ]
        )
        == 0
    )
    question = json.dumps({"anna": sides["anna"][0]})
    assert main(["predict", run, question]) == 0
    assert main(["evaluate", run, str(anna), str(ben), str(both), "--examples", "3"]) == 0
    capsys.readouterr()
    assert main(["look", run, question, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["axes"].keys() == {
        "anna",
        "sources",
        "target",
        "inputs",
    }
    trace = regard.load(run, "cpu").look(json.loads(question))
    trace.save(tmp_path / "t.npz")
    assert Trace.load(tmp_path / "t.npz").describe() == trace.describe()


# A sentence and its picture (Huang 2016).

SEEN = {
    **{"kind": "front", "width": 14, "dropout": 0.0},
    "front": {"kind": "convolution", "channels": [5, 7]},
}


SUBSAMPLED = {
    **{"kind": "transformer", "layers": 1, "heads": 2, "feedforward": 11},
    "front": {"kind": "subsampling", "channels": [2, 3]},
}


@pytest.fixture(scope="module")
def pictured(tmp_path_factory):
    """Lines, and pictures of two sizes."""
    from regard.data.png import encode

    folder, draw = tmp_path_factory.mktemp("pictured"), np.random.default_rng(3)
    lines = ["en\tpicture\tde"]
    for number in range(9):
        size = (11, 13, 3) if number % 2 else (22, 26, 3)
        pixels = draw.integers(0, 256, size, np.uint8)
        (folder / f"{number}.png").write_bytes(encode(pixels))
        lines.append(f"a dog {number}\t{number}.png\tein Hund {number}")
    (folder / "t.tsv").write_text("\n".join(lines) + "\n")
    found = list(
        understand([folder / "t.tsv"], columns=Columns(("en", "picture"), "de")).examples()
    )
    task = Multisource.learn(lambda: iter(found), TextSettings(kind="word"))
    return folder, task, found


def questions_of(found):
    first, second = found[0].question.sources, found[1].question.sources
    return [
        Question(first),
        Question({"en": second["en"]}),
        Question({"picture": second["picture"]}),
        Question(second),
    ]


@pytest.mark.parametrize("combine", COMBINATIONS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_sentence_and_its_picture_are_read_alone_as_beside_others_and_either_may_be_missing(
    pictured, kind, combine
):
    _, task, found = pictured
    model, target = made(task, kind, combine, encoders={"picture": SEEN}), np.array([5, 7, 2])
    rows = [{**task.encode(one), "target": target.astype(np.int32)} for one in questions_of(found)]
    together = task.logits(model, task.collate(rows, 31, 5))
    for number, row in enumerate(rows):
        alone = task.logits(model, task.collate([row], 1, 3))
        assert torch.allclose(together[number, :3], alone[0], atol=1e-5), number
    batch = task.collate([rows[1], rows[1]], 9, 3)
    before = task.logits(model, batch)
    batch.sources["picture"].values.fill_(255)
    assert torch.equal(before, task.logits(model, batch)), "a picture that is not there was seen"


def test_the_look_at_a_sentence_and_its_picture_has_a_grid_for_the_picture(pictured):
    _, task, found = pictured
    model = made(task, "transformer", "flat", encoders={"picture": SEEN})
    for question in questions_of(found):
        trace = look_inside(task, model, question, GREEDY)
        crossed = {site.keys for site in trace.sites if site.queries == "target"}
        assert crossed >= set(question.sources)
        assert ("picture" in trace.axes) == ("picture" in question.sources)
        if "picture" in trace.axes:
            assert trace.axes["picture"].kind == "grid"


def test_pictures_among_several_sources_are_stored_as_bytes_and_remembered(pictured):
    _, task, found = pictured
    again = Multisource.from_dict(task.to_dict())
    assert again.sizes == task.sizes
    for one, other in zip(task.rows(found), again.rows(found), strict=True):
        assert all(np.array_equal(one[name], other[name]) for name in one)
        assert one["picture"].dtype == np.uint8
    assert task.columns["picture"].width == task.sizes.sources["picture"].features


def test_a_sentence_and_its_picture_to_a_translation_by_one_command(pictured, tmp_path, capsys):
    from regard.cli.main import status as main

    folder, _, found = pictured
    config = tmp_path / "settings.toml"
    config.write_text(
        """
task = "multisource"
[text]
kind = "word"
[model.encoder]
kind = "rnn"
width = 8
[model.encoders.picture]
kind = "front"
width = 8
front = { kind = "convolution", channels = [3, 3] }
[model.reader]
kind = "rnn"
width = 8
combine = "hierarchical"
[train]
steps = 3
evaluate_every = 3
evaluate_examples = 2
"""
    )
    run = str(tmp_path / "run")
    names = ["--from", "en", "--from", "picture", "--to", "de"]
    assert main(["train", str(folder / "t.tsv"), *names, "--config", str(config), "-o", run]) == 0
    capsys.readouterr()
    asked = {"en": "a dog 1", "picture": {"image": str(folder / "1.png")}}
    assert main(["predict", run, json.dumps(asked)]) == 0
    assert regard.load(run).predict([{"en": "a dog 1"}, found[0].question])


def test_features_of_another_network_may_be_a_source(tmp_path):
    lines = ["en\tseen\tde"]
    for number in range(5):
        drawn = np.random.default_rng(number).standard_normal((3, 2 + number, 4))
        np.savez(tmp_path / f"{number}.npz", drawn.astype(np.float32))
        lines.append(f"a dog {number}\t{number}.npz\tein Hund {number}")
    (tmp_path / "t.tsv").write_text("\n".join(lines) + "\n")
    columns = Columns(("en", "seen"), "de")
    found = list(understand([tmp_path / "t.tsv"], columns=columns).examples())
    task = Multisource.learn(lambda: iter(found), TextSettings(kind="word"))
    assert task.columns["seen"].width == 3 * 4
    seen = {"kind": "front", "width": 14, "front": {"kind": "patches", "size": 1}}
    model = made(task, "rnn", "flat", encoders={"seen": seen})
    for example in found:
        trace = look_inside(task, model, example.question, GREEDY)
        assert trace.axes["seen"].kind == "grid"
        assert len(trace.axes["seen"]) == len(task.encode(example.question)["seen"]) * 3


@pytest.mark.parametrize("heard", [{"kind": "rnn", "layers": 2, "pyramid": 1}, SUBSAMPLED])
def test_a_sound_and_a_picture_and_a_text_are_sources_of_one_model(heard, tmp_path):
    """Each is read in its own way, may be missing, is remembered, and has its axis in a look."""
    from regard.data import png, wav
    from regard.data.toys.spelling import spoken

    lines = ["en\tvoice\tseen\tde"]
    for number in range(4):
        (tmp_path / f"{number}.wav").write_bytes(wav.encode(spoken("ba mi", number)[0]))
        pixels = np.random.default_rng(number).integers(0, 256, (9, 9 + number, 3), np.uint8)
        (tmp_path / f"{number}.png").write_bytes(png.encode(pixels))
        voice = f"{number}.wav" if number != 2 else ""
        lines.append(f"a dog {number}\t{voice}\t{number}.png\tein Hund {number}")
    (tmp_path / "t.tsv").write_text("\n".join(lines) + "\n")
    columns = Columns(("en", "voice", "seen"), "de")
    found = list(understand([tmp_path / "t.tsv"], columns=columns).examples())
    task = Multisource.learn(lambda: iter(found), TextSettings(kind="word"))
    again = Multisource.from_dict(task.to_dict())
    assert again.sizes == task.sizes
    for one, other in zip(task.rows(found), again.rows(found), strict=True):
        assert all(np.array_equal(one[name], other[name]) for name in one)
    own = {"voice": {**heard, "width": 14, "dropout": 0.0}, "seen": SEEN}
    model = made(task, "transformer", "flat", encoders=own)
    rows = [dict(row) for row in task.rows(found)]
    together = task.logits(model, task.collate(rows, 99, 6))
    for number, (row, example) in enumerate(zip(rows, found, strict=True)):
        alone = task.logits(model, task.collate([row], 1, len(row["target"])))
        assert torch.allclose(together[number, : alone.shape[1]], alone[0], atol=1e-5)
        trace = look_inside(task, model, example.question, GREEDY)
        kinds = {name: trace.axes[name].kind for name in example.question.sources}
        assert kinds.items() <= {"en": "tokens", "voice": "times", "seen": "grid"}.items()
        assert sum(np.array(one.values) for one in trace.ribbons) == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize("combine", ["flat", "serial"])
def test_a_drawing_has_the_map_of_every_source_and_its_share(pictured, combine):
    from regard.show import sheet
    from regard.show.figure import Dots, Words

    _, task, found = pictured
    model = made(task, "transformer", combine, encoders={"picture": SEEN})
    trace = look_inside(task, model, found[0].question, GREEDY)
    drawn = sheet.drawing(trace)
    said = [shape.text for shape in drawn.shapes if isinstance(shape, Words)]
    told = " ".join(said)
    assert "en across" in told
    assert "gold is where a word looked" in told
    assert ("share of attention: answer down, sources across" in told) == (combine == "flat")
    assert sum(text.startswith("en: ") for text in said) == 1, "one title"
    assert "{" not in told, "of words, not of JSON"
    alone = sheet.drawing(trace, trace.site().path)
    assert drawn.height > alone.height
    dots = [shape for shape in drawn.shapes if isinstance(shape, Dots)]
    assert len(dots) == len(trace.axes["target"]) + 1
    assert max(shape.y + shape.height for shape in dots) <= drawn.height


def test_a_path_that_is_typed_alone_is_a_file_that_the_question_names(pictured):
    """Who serves a model asks for these files, and refuses those of the server."""
    _, task, _ = pictured
    for asked in ({"picture": "/a/b.png"}, {"en": "c.png", "picture": {"image": "/a/b.png"}}):
        assert task.files(json.dumps(asked)) == ("/a/b.png",)
    assert task.files(json.dumps({"en": "/a/b.png"})) == ()
    assert task.files(json.dumps({"picture": "data:image/png;base64,AA"})) == ()
