"""What ships in the box is whole, small enough, licensed, and as good as its cards say."""

import json
import math
import shutil
import tomllib
from pathlib import Path

import pytest

from regard import box
from regard.box.card import CARD, Card, read, size
from regard.cli.main import status
from regard.config import parse, read_toml, to_toml
from regard.errors import ModelFileError, UsageError
from regard.show.catalogue import markdown
from tests.box import standin

HERE = Path(__file__).parent
MOST_BYTES = 64 << 20
NAMES = box.names()
FILES = {CARD, "README.md", "config.toml", "model.safetensors", "tokenizer.json"}
LEARNING = {"metrics.jsonl", "samples.jsonl"}  # how it learned, where that is kept
TESTS = {"tag": ["small.conllu"], "classify": ["small.tsv"], "language": ["small.en"]}
TESTS["transcribe"] = ["spoken"]
TOYS = ["shapes", "digits", "spoken-digits", "writer", "sorter", "persian"]
MOST_OF_A_TOY = 1 << 19  # bytes

shipped = pytest.mark.skipif(not NAMES, reason="no model is in the box yet")
each = pytest.mark.parametrize("name", NAMES or ["none"])


@shipped
@each
class TestEach:
    def test_all_files_are_there_and_no_others(self, name):
        found = {path.name for path in box.folder(name).iterdir()}
        example = {box.card(name).example} if box.card(name).is_shown else set()
        assert found - LEARNING == FILES | example

    def test_the_card_is_complete(self, name):
        card = box.card(name)
        assert card.name == name
        assert card.sources
        assert card.scores
        assert card.limits
        assert all(score.signature for score in card.scores)
        assert set(card.sha256) == {"model.safetensors", "tokenizer.json"}
        assert parse(Card, json.loads(card.model_dump_json())) == card

    def test_the_readme_says_what_the_card_says(self, name):
        text = (box.folder(name) / "README.md").read_text("utf-8")
        card = box.card(name)
        assert all(f"{score.value:.2f}" in text for score in card.scores)
        assert all(limit in text for limit in card.limits)
        assert card.licence in text

    def test_the_model_is_what_the_card_says(self, name):
        from regard.answer.predictor import Predictor
        from regard.models import count_parameters

        predictor, card = Predictor.load(box.folder(name), "cpu"), box.card(name)
        assert predictor.task == card.task
        assert count_parameters(predictor.model) == card.parameters
        if card.directions:
            assert {way.partition("-")[2] for way in card.directions} <= {*predictor.languages}
            assert predictor.card.look is not None

    @pytest.mark.parametrize("file", ["model.safetensors", "tokenizer.json"])
    def test_a_flipped_bit_is_not_believed(self, name, file, tmp_path):
        from regard.answer.predictor import Predictor

        folder = Path(shutil.copytree(box.folder(name), tmp_path / name))
        content = bytearray((folder / file).read_bytes())
        place = {"model.safetensors": -1000, "tokenizer.json": content.rindex(b"e")}[file]
        content[place] ^= 1
        (folder / file).write_bytes(content)
        with pytest.raises(ModelFileError, match="is not what was written: its SHA-256"):
            Predictor.load(folder, "cpu")

    def test_nothing_says_where_it_was_made(self, name):
        for path in box.folder(name).iterdir():
            if path.suffix in (".toml", ".md"):
                assert "/work" not in path.read_text("utf-8")
                assert "/tmp" not in path.read_text("utf-8")

    def test_the_score_is_the_one_stated(self, name, capsys):
        """One direction of a translator here, all of them among the slow tests."""
        card = box.card(name)
        check_score(card, card.directions[0] if card.directions else "", capsys)


@shipped
@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "way"), [(name, way) for name in NAMES for way in box.card(name).directions[1:]]
)
def test_every_direction_scores_as_stated(name, way, capsys):
    check_score(box.card(name), way, capsys)


def check_score(card, way, capsys):
    toy = read_toml(box.folder(card.name) / "config.toml")["data"].get("toy")
    sides = [f"small.{side}" for side in way.split("-")] if way else TESTS.get(card.task, [])
    files = [] if toy else [str(HERE / side) for side in sides]
    asked = ["evaluate", card.name, *files, *(["--examples", "200"] if toy else []), "--json"]
    capsys.readouterr()
    assert status([*asked, "--device", "cpu"]) == 0
    found = {one["name"]: one for one in json.loads(capsys.readouterr().out)["metrics"]}
    stated = [s for s in card.scores if (s.test, s.direction) == ("small", way)]
    assert stated
    for score in stated:
        # Measured for all four directions with AVX-512 VNNI, AVX2 alone and SSE4 alone: at most 0.40 from the
        # card (one sentence of 50, rounded the other way).
        # Of few sounds one heard otherwise is much: a word of 16.
        most = 7.0 if card.task == "transcribe" else 1.0
        assert found[score.metric]["value"] == pytest.approx(score.value, abs=most)
        assert found[score.metric]["signature"] == score.signature


@pytest.mark.skipif(not {*TOYS} <= {*NAMES}, reason="the toys are not in the box yet")
class TestToys:
    @pytest.mark.parametrize("name", TOYS)
    def test_each_is_small_and_says_what_it_is(self, name):
        assert size(box.folder(name)) <= MOST_OF_A_TOY
        assert box.card(name).title.startswith("Toy: ")

    @pytest.mark.parametrize("name", [*TOYS, "tagger", "sentiment"])
    def test_it_shows_how_it_learned(self, name):
        rows = [
            json.loads(line)
            for line in (box.folder(name) / "metrics.jsonl").read_text("utf-8").splitlines()
        ]
        judged = [row["loss"] for row in rows if row["kind"] == "valid"]
        assert len(judged) >= 4
        assert judged[-1] < judged[0]
        lines = (box.folder(name) / "samples.jsonl").read_text("utf-8").splitlines()
        samples = [json.loads(line) for line in lines]
        assert len({sample["question"] for sample in samples}) == 1
        assert [sample["step"] for sample in samples] == sorted({s["step"] for s in samples})

    @pytest.mark.parametrize("name", TOYS)
    def test_look_shows_its_own_example(self, name, capsys):
        assert status(["look", name]) == 0
        told = capsys.readouterr().out
        assert len(told.splitlines()) > 5
        said = {"shapes": "a yellow circle above a red square", "digits": "2015"}
        said |= {"spoken-digits": "two zero one five", "sorter": "3 1 2 4 0"}
        assert said.get(name, "") in told

    def test_commands_take_them_without_a_name(self, capsys):
        assert status(["point", "0.3 0.1 0.2"]) == 0
        assert capsys.readouterr().out == "1 2 0\n"
        assert status(["continue", "I would like to"]) == 0
        assert capsys.readouterr().out.startswith("I would like to ")
        example = str(box.folder("spoken-digits") / "example.wav")
        assert status(["transcribe", example]) == 0
        assert capsys.readouterr().out == "two zero one five\n"

    def test_of_two_that_see_different_things_one_is_named(self, capsys):
        example = str(box.folder("digits") / "example.png")
        assert status(["caption", example]) == 2
        assert "which model? digits and shapes come with regard" in capsys.readouterr().err
        assert status(["caption", "digits", example]) == 0
        assert capsys.readouterr().out == "2015\n"

    def test_a_word_that_is_also_a_model_says_how_to_ask_about_it(self, capsys):
        assert status(["translate", "shapes", "--to", "fr"]) == 2
        assert "if it is a text, name the model: -m translator" in capsys.readouterr().err


@pytest.mark.skipif("sentiment" not in NAMES, reason="no judge of sentiment is in the box yet")
class TestSentiment:
    @pytest.mark.parametrize("test", ["negation", "contrast"])
    def test_what_is_denied_and_contrasted_is_judged_as_the_card_says(self, test, capsys):
        """Sentences written for this, which no training saw (recipes/box/opinions.py leaves them out)."""
        (stated,) = (
            score
            for score in box.card("sentiment").scores
            if (score.test, score.metric) == (test, "accuracy")
        )
        capsys.readouterr()
        asked = ["evaluate", "sentiment", str(HERE / f"{test}.tsv"), "--json", "--device", "cpu"]
        assert status(asked) == 0
        found = {one["name"]: one for one in json.loads(capsys.readouterr().out)["metrics"]}
        # An instruction set may round a sentence or two of the hundred the other way.
        assert found["accuracy"]["value"] == pytest.approx(stated.value, abs=2.0)
        assert found["accuracy"]["signature"] == stated.signature

    def test_a_denial_and_good_news_are_positive(self):
        """Probabilities 0.93 and 0.98 on three instruction sets: far from the line."""
        from regard.answer.predictor import Predictor

        said = ["This is not a bad film at all."]
        said += ["NVIDIA reported record earnings, far above expectations."]
        for answer in Predictor.load(box.folder("sentiment"), "cpu").predict(said):
            assert answer.text == "positive"
            assert math.exp(answer.score) > 0.6

    def test_half_of_each_set_is_praise(self):
        for test in ("negation", "contrast"):
            rows = [
                line.split("\t") for line in (HERE / f"{test}.tsv").read_text("utf-8").splitlines()
            ]
            assert len({text for text, _ in rows}) == 100
            assert [label for _, label in rows].count("positive") == 50

    def test_who_is_unsure_says_neutral_and_every_score_judges_the_label(self):
        from regard.answer.predictor import Predictor

        model = Predictor.load(box.folder("sentiment"), "cpu")
        decode = model.run.settings.decode
        assert decode.unsure == "neutral"
        texts = [
            line.split("\t")[0] for line in (HERE / "negation.tsv").read_text("utf-8").splitlines()
        ]
        answers = model.predict(texts)
        assert {answer.text for answer in answers} == {"positive", "negative"}
        told = [
            answer.text if math.exp(answer.score) >= decode.sure else "neutral"
            for answer in answers
        ]
        assert model.classify(texts) == told
        assert 0 < told.count("neutral") < len(told)


@shipped
def test_the_box_is_small():
    assert sum(size(box.folder(name)) for name in NAMES) <= MOST_BYTES


class TestCards:
    def test_the_test_has_as_many_lines_in_each_language(self):
        counts = {
            len((HERE / f"small.{s}").read_text("utf-8").splitlines()) for s in ("en", "fr", "de")
        }
        assert counts == {50}

    def test_recipes_have_what_no_program_can_know(self):
        for path in (HERE.parents[1] / "recipes" / "box" / "cards").glob("*.toml"):
            more = {"name": path.stem, "task": "t", "date": "2026-11-16", "parameters": 1}
            score = {"test": "small", "metric": "BLEU", "value": 1.0, "signature": "s"}
            card = parse(Card, {**read_toml(path), **more, "weights": "int8", "scores": [score]})
            assert parse(Card, tomllib.loads(to_toml(card))) == card
            assert "1.00" in markdown(card, 1 << 20)

    def test_a_card_with_a_slip_is_refused(self, tmp_path):
        (tmp_path / CARD).write_text(
            standin.card("x", "tag").replace("licence", "license"), "utf-8"
        )
        with pytest.raises(ModelFileError, match="licence: missing"):
            read(tmp_path)
        assert read(tmp_path / "nowhere") is None

    def test_names_that_are_not_there(self):
        with pytest.raises(UsageError, match="there is no model 'nobody' in the box"):
            box.folder("nobody")
        with pytest.raises(UsageError, match="the box has no model for the task 'paint'"):
            box.first("paint")


def test_a_card_tells_its_worst_answers(tmp_path):
    folder = standin.make(tmp_path, "translator", "translate", tmp_path / "scratch")
    facts = read_toml(folder / CARD)
    plain = markdown(parse(Card, facts, where="card"), 1)
    row = {"direction": "en-de", "source": "a | b", "answer": "c", "wrong": "lost a word"}
    told = markdown(parse(Card, {**facts, "worst": [row]}, where="card"), 1)
    assert "worst" not in plain
    assert "| en-de | a \\| b | c | lost a word |" in told
