"""A loaded model: one in one out, many in many out, the same alone or in any company."""

import json
import math
import random
import warnings
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch

from regard.answer.predictor import Predictor
from regard.answer.tracing import trace
from regard.decode import DecodeSettings
from regard.errors import DataError, MemoryLimitError, UsageError
from regard.settings.decode import changed
from regard.tasks import TASKS, Translate, point
from regard.text import END
from tests.run.kinds import KINDS, load, make, questions

STRICT = sorted(KINDS)
RNN = {"kind": "rnn", "width": 256}
BLOCKS = {"kind": "transformer", "width": 256, "layers": 2, "heads": 4, "feedforward": 512}
WIDE = {
    "rnn": ("reverse", {"encoder": RNN, "reader": RNN}),
    "transformer": ("reverse", {"encoder": BLOCKS, "reader": BLOCKS}),
    "tag": ("parts", {"encoder": {**RNN, "cell": "lstm"}, "reader": {"kind": "tag"}}),
    "hull": ("hull", {"encoder": BLOCKS, "reader": {"kind": "point", "width": 256}}),
}


class TestAsking:
    def test_one_text_gives_one_answer_and_a_list_gives_a_list(self, predictor):
        one = predictor("rnn").translate("a b c")
        assert isinstance(one, str)
        assert predictor("rnn").translate(["a b c", "d"]) == [
            one,
            predictor("rnn").translate("d"),
        ]
        assert predictor("rnn").translate([]) == []
        assert predictor("rnn")("a b c") == one

    def test_tags_stand_beside_their_words(self, predictor):
        tagger = predictor("tag")
        assert [word for word, _ in tagger.tag("these trains sleep .")] == [
            "these",
            "trains",
            "sleep",
            ".",
        ]
        assert tagger.tag(["", "it sleeps"])[0] == []
        assert {tag for _, tag in tagger.tag("it sleeps")} <= set(tagger.run.task.labels.names)

    def test_a_label_is_one_of_those_learned(self, predictor):
        labels = set(predictor("classify").run.task.labels.names)
        assert predictor("classify").classify("my friends enjoyed our film") in labels
        assert set(predictor("classify").classify(["good", "bad"])) <= labels

    def test_a_classifier_ranks_all_labels(self, predictor):
        (answer,) = predictor("classify").predict("good")
        names, scores = zip(*answer.alternatives, strict=True)
        assert set(names) == set(predictor("classify").run.task.labels.names)
        assert sum(map(math.exp, scores)) == pytest.approx(1)

    def test_numbers_may_come_as_text_or_lists(self, predictor):
        point = predictor("point").point
        found = point([0.25, 0.5, 0.125])
        assert sorted(found) == sorted(set(found) & {0, 1, 2})
        assert found == point("0.25 0.5 0.125") == point((0.25, 0.5, 0.125))
        assert point([[0.25, 0.5, 0.125], [0.5]]) == [found, point("0.5")]
        assert point(["0.25 0.5 0.125", "0.5"]) == [found, point([0.5])]

    def test_points_have_several_numbers(self, predictor):
        point = predictor("hull").point
        found = point([(0.0, 0.5), (1.0, 0.25), (0.5, 0.75)])
        assert found == point("0,0.5 1,0.25 0.5,0.75")
        assert point([[(0.0, 0.5), (1.0, 0.25), (0.5, 0.75)]]) == [found]

    def test_a_completed_text_begins_with_the_text(self, predictor):
        assert predictor("language").complete("leo had a").startswith("leo had a")
        assert predictor("language").complete([""], max_length=3) != [
            ""
        ]  # nothing can be gone on with

    @pytest.mark.parametrize("kind", ["rnn", "tag", "classify", "point"])
    def test_nothing_in_gives_nothing_out(self, predictor, kind):
        for answer in predictor(kind).predict(["", " ", "\u2028"]):
            assert (answer.text, answer.score, answer.ids, answer.finish) == ("", 0.0, (), "end")

    @pytest.mark.parametrize("kind", ["rnn", "tag", "classify", "point", "language"])
    def test_another_task_is_refused_by_name(self, predictor, kind):
        model = predictor(kind)
        for task, method in ((name, kind.method) for name, kind in TASKS.items()):
            if task == model.task or method == "predict":  # which any model can be asked
                continue
            with pytest.raises(UsageError, match="this model was trained to") as fault:
                getattr(model, method)("0.5")
            assert fault.value.remedy == f"use .{model.run.task.method}(...)"

    def test_it_says_what_it_is(self, predictor):
        assert repr(predictor("tag")).startswith("Predictor(tag, ")
        assert repr(predictor("tag")).endswith(" parameters, cpu)")

    def test_looking_shows_the_answer_of_predict(self, predictor):
        seen = predictor("rnn").look("a b c", beam=3)
        assert seen.answer == predictor("rnn").predict("a b c", beam=3)[0]
        assert seen.site().weights.shape == (1, len(seen.steps), 4)

    @pytest.mark.parametrize(("kind", "what"), [("rnn", "does not"), ("tag", "trained to tag")])
    def test_a_language_that_nobody_knows_is_not_passed_over(self, predictor, kind, what):
        for ask in (predictor(kind).look, partial(trace, predictor(kind))):
            with pytest.raises(UsageError, match=what):
                ask("a b", to="fr")

    def test_arrays_are_problems(self, predictor):
        points = np.array([[0.0, 0.5], [1.0, 0.25], [0.5, 0.75]])
        point = predictor("hull").point
        assert point(points) == point(torch.tensor(points)) == point(points.tolist())
        assert point(points[None]) == [point(points)]

    def test_progress_adds_up(self, predictor):
        for kind in ("rnn", "tag", "language"):
            told = []
            predictor(kind).predict([*questions(kind, 11), ""], advance=told.append)
            assert sum(told) == 12


class TestSearch:
    def test_alternatives_come_best_first(self, predictor):
        for answer in predictor("rnn").predict(list(questions("rnn", 9)), top_beams=5):
            texts, scores = zip(*answer.alternatives, strict=True)
            assert 1 < len(texts) <= 5
            assert list(scores) == sorted(scores, reverse=True)
            assert answer.text == texts[0]

    def test_a_beam_may_be_wider_than_the_vocabulary(self, predictor):
        model = predictor("rnn")
        (answer,) = model.predict("a b", beam=model.run.task.target.size + 5, max_length=2)
        assert answer.alternatives

    def test_a_narrow_beam_cannot_give_many(self, predictor):
        with pytest.raises(UsageError) as fault:
            predictor("rnn").predict("a", beam=2, top_beams=3)
        assert fault.value.what == "a beam of 2 cannot give 3 alternatives"

    def test_settings_give_way_to_what_was_said(self):
        run = DecodeSettings(beam=5, top_beams=4)
        assert changed(run, {"beam": None}) == run
        assert changed(run, {"beam": 2}) == DecodeSettings(beam=2, top_beams=2)
        assert changed(run, {"top_beams": 9}) == DecodeSettings(beam=9, top_beams=9)
        with pytest.raises(UsageError, match="max_length"):
            changed(run, {"max_length": 0})

    def test_what_never_ends_stops_at_the_length(self, predictor):
        answers = predictor("rnn").predict(list(questions("rnn", 30)), max_length=2)
        assert all(len(answer.ids) <= 2 for answer in answers)
        assert "length" in {answer.finish for answer in answers}


def test_each_text_has_one_number_or_none_has(folder):
    model = load(folder("rnn"))
    with pytest.raises(UsageError, match="1 numbers for 2 texts"):
        model.predict(["a b", "b a"], numbers=[3])


def draw(model, texts, numbers=None, seed=1, top_beams=1):
    decode = DecodeSettings(sample=True, seed=seed, max_length=9, temperature=2.0)
    return model.predict(texts, decode=decode, numbers=numbers, top_beams=top_beams)


class TestChance:
    @pytest.mark.parametrize("kind", ["rnn", "point", "language"])
    def test_a_draw_depends_on_seed_number_and_text_alone(self, predictor, kind):
        model, texts = predictor(kind), list(questions(kind, 3))
        together = draw(model, texts)
        assert together[1:2] == draw(model, texts[1:2], [1])
        assert together == draw(model, texts[::-1], [2, 1, 0])[::-1]

    def test_another_number_or_seed_draws_otherwise(self, predictor):
        model = predictor("language")
        found = [draw(model, ["leo"], [0]), draw(model, ["leo"], [1]), draw(model, ["leo"], seed=2)]
        assert len({one[0].text for one in found}) == 3

    def test_several_draws_of_one_text(self, predictor):
        (answer,) = draw(predictor("language"), ["leo"], top_beams=11)
        scores = [score for _, score in answer.alternatives]
        assert len(scores) == 11
        assert scores == sorted(scores, reverse=True)
        assert len({text for text, _ in answer.alternatives}) > 5


def compare_in_company(model: Predictor, texts, trials, sizes) -> tuple[int, int]:
    """How many answers were compared with those alone, and how many differed in any bit."""
    chance = random.Random(7)
    alone = {text: model.predict(text, truncate=True)[0] for text in texts}
    compared = differing = 0
    for trial in range(trials):
        batch = [chance.choice(texts) for _ in range(sizes[trial % len(sizes)])]
        for text, answer in zip(batch, model.predict(batch, truncate=True), strict=True):
            compared += 1
            differing += answer != alone[text]
    return compared, differing


class TestCompany:
    """Strict batch invariance (D1): scores are compared as they are, to the last bit.

    Strict means: on a CPU, float32, one thread, the plain model (docs/batch-invariance.md). The slow tests
    compare more than 16,000 answers, of every kind of model, in batches of 1 to 83 texts.
    """

    @pytest.mark.parametrize("kind", STRICT)
    def test_neighbours_do_not_matter(self, folder, kind):
        model = load(folder(kind), strict=True, batch_tokens=256)
        compared, differing = compare_in_company(model, questions(kind, 5), 3, (2, 9, 21))
        assert (compared, differing) == (32, 0)

    @pytest.mark.slow
    @pytest.mark.parametrize("kind", STRICT)
    def test_neighbours_do_not_matter_a_thousand_times(self, folder, kind):
        for tokens in (64, 4096):
            model = load(folder(kind), strict=True, batch_tokens=tokens)
            sizes = (1, 2, 7, 8, 9, 30, 60, 83)
            compared, differing = compare_in_company(model, questions(kind, 60), 32, sizes)
            assert compared >= 800
            assert differing == 0

    @pytest.mark.slow
    @pytest.mark.parametrize("kind", WIDE)
    def test_nor_with_models_as_wide_as_people_train(self, tmp_path, monkeypatch, kind):
        monkeypatch.setitem(KINDS, f"wide {kind}", WIDE[kind])
        model = load(make(tmp_path / "run", f"wide {kind}"), strict=True, batch_tokens=512)
        texts = questions(kind, 24)
        assert compare_in_company(model, texts, 12, (2, 9, 30, 60, 7, 8)) == (232, 0)

    def test_one_last_bit_would_be_noticed(self, folder, monkeypatch):
        """The control, whichever processor rounds: neighbours that change one bit of a score."""
        model = load(folder("rnn"), strict=True)
        predict = type(model.engine.task).predict

        def disturbed(self, model, texts, settings, **rest):
            found = predict(self, model, texts, settings, **rest)
            if len(texts) == 1:
                return found
            return [replace(one, score=math.nextafter(one.score, 0)) for one in found]

        monkeypatch.setattr(type(model.engine.task), "predict", disturbed)
        assert compare_in_company(model, questions("rnn", 5), 3, (2, 9, 21)) == (32, 32)

    @pytest.mark.parametrize("kind", ["rnn", "transformer", "classify"])
    def test_without_the_rules_only_rounding_differs(self, predictor, kind):
        """In batches of any size, padded to the longest, last bits may change; which, a processor decides."""
        model = predictor(kind)
        task, texts = model.run.task, questions(kind, 24)
        rows = [np.array([*task.source.encode(text), END], np.int64) for text in texts]

        def states(chosen):
            longest = max(map(len, chosen))
            ids = np.stack([np.pad(row, (0, longest - len(row))) for row in chosen])
            lengths = torch.tensor([len(row) for row in chosen])
            with torch.inference_mode():
                return model.model.encode(torch.from_numpy(ids), lengths).states

        together = states(rows)
        alone = [states([row])[0] for row in rows]
        for one, other in zip(alone, together, strict=True):
            torch.testing.assert_close(one, other[: len(one)])

    @pytest.mark.parametrize("kind", ["rnn", "transformer", "classify"])
    def test_shared_batches_differ_by_rounding_alone(self, predictor, kind):
        model, texts = predictor(kind), list(questions(kind, 24))
        alone = [model.predict(text)[0] for text in texts]
        for one, other in zip(alone, model.predict(texts), strict=True):
            assert one.text == other.text
            assert one.score == pytest.approx(other.score, abs=1e-5)


class TestLength:
    def test_a_text_too_long_is_refused_with_both_numbers(self, predictor):
        model = predictor("learned")
        assert model.limit == 16
        model.translate(" ".join("a" * 15))
        with pytest.raises(DataError) as fault:
            model.translate(["a", " ".join("a" * 16)])
        assert fault.value.what == "a text has 17 symbols, and this model reads at most 16"
        assert fault.value.where == "text 2"
        assert "truncate=True" in fault.value.remedy

    def test_or_cut_and_said_so(self, folder):
        notes = []
        model = Predictor.load(folder("learned"), "cpu", note=notes.append)
        long = " ".join("abcdefghijklmnopqrstuvwxyz")
        assert model.translate(long, truncate=True) == model.translate(long[: 2 * 15 - 1])
        assert notes == [
            "1 of 1 texts were cut: they had up to 27 symbols, and this model reads 16"
        ]

    def test_without_a_listener_python_warns(self, folder):
        model = Predictor.load(folder("learned"), "cpu")
        with pytest.warns(UserWarning, match="1 of 2 texts were cut"):
            model.translate(["a", " ".join("a" * 30)], truncate=True)

    def test_what_has_no_end_is_never_refused(self, predictor):
        assert predictor("transformer").limit is None
        predictor("transformer").translate(" ".join("a" * 600))

    def test_output_ends_where_its_positions_end(self, predictor):
        answers = predictor("learned").predict(list(questions("learned", 30)), truncate=True)
        assert max(len(answer.ids) for answer in answers) <= 7
        assert "length" in {answer.finish for answer in answers}

    def test_a_prompt_and_its_end_share_the_positions(self, predictor):
        model = predictor("language-learned")
        assert model.limit == 12
        for words in range(1, 13):
            (answer,) = model.predict(" ".join(["a"] * words))
            assert words <= len(answer.ids) <= 13
        with pytest.raises(DataError, match="13 symbols"):
            model.complete(" ".join(["a"] * 13))


class TestTrouble:
    def test_bfloat16_is_done_again_where_it_breaks(self, folder):
        """A logit that float32 holds and bfloat16 rounds to infinity."""
        notes = []
        model = Predictor.load(folder("rnn"), "cpu", precision="bfloat16", note=notes.append)
        sound = model.predict(["a b", "c"])
        assert notes == []
        with torch.no_grad():
            model.model.reader.output.bias[END] = 3.4e38
        again = model.predict(["a b", "c"])
        assert notes == [
            "bfloat16 broke down on 2 of 2 texts: these were worked out again in float32"
        ]
        assert [answer.finish for answer in again] == ["end", "end"]
        assert again != sound

    def test_numbers_that_are_not_finite_are_null_in_json(self, predictor, monkeypatch):
        monkeypatch.setattr(point, "LARGEST", math.inf)  # broken numbers reach the model
        (answer,) = predictor("point").predict("inf -inf 0.5")
        text = json.dumps(answer.as_dict(), allow_nan=False)
        assert json.loads(text)["finish"] == "numerics"

    @pytest.mark.parametrize("fault", [MemoryError(), RuntimeError("can't allocate memory")])
    def test_batches_shrink_until_they_fit(self, predictor, monkeypatch, fault):
        whole, tried, told = Translate.predict, [], []

        def short_of_memory(self, *arguments, tokens, advance):
            tried.append(tokens)
            if tokens > 100:
                advance(2)  # some were done before memory ran out
                raise fault
            return whole(self, *arguments, tokens=tokens, advance=advance)

        expected = predictor("rnn").predict(["a", "b c", "d"])
        monkeypatch.setattr(Translate, "predict", short_of_memory)
        assert predictor("rnn").predict(["a", "b c", "d"], advance=told.append) == expected
        assert tried == [4096, 2048, 1024, 512, 256, 128, 64]
        assert sum(told) == 3

    def test_one_text_too_big_for_memory(self, predictor, monkeypatch):
        def never(self, *arguments, **choices):
            raise MemoryError

        monkeypatch.setattr(Translate, "predict", never)
        with pytest.raises(MemoryLimitError, match="one text does not fit into memory"):
            predictor("rnn").translate("a b c")

    def test_other_faults_are_not_hidden(self, predictor, monkeypatch):
        def broken(self, *arguments, **choices):
            raise RuntimeError("something else")

        monkeypatch.setattr(Translate, "predict", broken)
        with pytest.raises(RuntimeError, match="something else"):
            predictor("rnn").translate("a b c")

    def test_half_a_character_is_refused(self, predictor):
        with pytest.raises(DataError, match="half a character"):
            predictor("rnn").translate("a \ud800")

    def test_strictness_gives_the_threads_back(self, folder):
        torch.set_num_threads(2)
        try:
            load(folder("rnn"), strict=True).translate("a b")
            assert torch.get_num_threads() == 2
        finally:
            torch.set_num_threads(1)

    def test_answers_can_be_compared(self, predictor):
        """The law above rests on this: equal means equal in every number."""
        (answer,) = predictor("rnn").predict("a b c")
        assert answer == replace(answer)
        assert answer != replace(answer, score=math.nextafter(answer.score, 0))

    def test_no_warning_without_a_reason(self, folder):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            Predictor.load(folder("rnn"), "cpu").translate(["a b", ""])
