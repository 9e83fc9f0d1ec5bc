"""Search over real models: what it finds is what teacher forcing would say of it."""

import math

import pytest
import torch

from regard.decode import DecodeSettings, Prefix, beam, greedy, sample
from regard.models import Pointer
from tests.models.zoo import DECODERS, SOURCE, example_of, fresh, model_of

SETTINGS = DecodeSettings(beam=3, top_beams=2, max_length=6, penalty="average", alpha=1.0)
FAMILIES = (
    "rnn-additive-after-fed",
    "rnn-lstm-before-2",
    "rnn-none",
    "transformer-pre-rotary",
    "transformer-reach-window",
    "transformer-linear",
    "point-gru",
    "point-cosine",
    "lm-post-learned",
    "lm-rnn-lstm",
)
LANGUAGE_MODELS = [name for name, settings in DECODERS.items() if settings.encoder is None]
families = pytest.mark.parametrize("name", FAMILIES)
CPU = torch.device("cpu")


def encoded_of(name, row=None):
    model, example = model_of(name), example_of(name)
    example = example if row is None else example.row(row)
    return model.decoder, model.encode(example.source, example.lengths)


def forced_log_probabilities(decoder, encoded, row, hypothesis):
    """The log-probability of each found symbol, by one teacher-forced pass over the row."""
    said = list(hypothesis.tokens) + [decoder.end] * (hypothesis.finish == "end")
    inputs = torch.tensor([[decoder.begin, *said[:-1]]]).expand(len(encoded.states), -1)
    found = decoder(encoded, inputs)[row].log_softmax(-1)
    values = found.gather(1, torch.tensor(said).unsqueeze(1)).squeeze(1)
    return values[hypothesis.forced :].tolist()


@pytest.mark.parametrize("name", DECODERS)
def test_what_is_found_scores_as_when_it_is_forced(name):
    decoder, encoded = encoded_of(name)
    found, _ = beam(decoder, encoded, SETTINGS)
    for row, hypotheses in enumerate(found):
        for hypothesis in hypotheses:
            forced = forced_log_probabilities(decoder, encoded, row, hypothesis)
            assert hypothesis.log_probabilities == pytest.approx(forced, abs=1e-5)
            assert hypothesis.score == pytest.approx(math.fsum(forced) / len(forced), abs=1e-5)


@families
def test_a_batch_is_its_rows(name):
    together, _ = beam(*encoded_of(name), SETTINGS)
    for row, hypotheses in enumerate(together):
        (alone,), _ = beam(*encoded_of(name, row), SETTINGS)
        assert [h.tokens for h in alone] == [h.tokens for h in hypotheses]
        assert [h.finish for h in alone] == [h.finish for h in hypotheses]
        assert [h.score for h in alone] == pytest.approx([h.score for h in hypotheses], abs=1e-5)


@families
def test_beam_one_is_greedy_bit_for_bit(name):
    one = SETTINGS.model_copy(update={"beam": 1, "top_beams": 1})
    decoder, encoded = encoded_of(name)

    assert beam(decoder, encoded, one)[0] == greedy(decoder, encoded, one)


@families
def test_a_draw_from_one_symbol_is_greedy(name):
    decoder, encoded = encoded_of(name)
    narrow = SETTINGS.model_copy(update={"top_k": 1, "temperature": 3.0})

    assert sample(decoder, encoded, narrow) == greedy(decoder, encoded, narrow)


@families
def test_a_beam_as_wide_as_the_first_step_looks_no_worse_than_greedy(name):
    decoder, encoded = encoded_of(name)
    short = SETTINGS.model_copy(update={"beam": 200, "max_length": 2})
    found, _ = beam(decoder, encoded, short)
    for (best, *_), (chosen,) in zip(found, greedy(decoder, encoded, short), strict=True):
        assert best.score >= chosen.score - 1e-6


@pytest.mark.parametrize("width", [1, 3])
@pytest.mark.parametrize("name", LANGUAGE_MODELS)
def test_ragged_prompts_are_continued_as_each_alone(name, width):
    model, settings = model_of(name), SETTINGS.model_copy(update={"beam": width, "top_beams": 1})
    prompts = [(3, 5, 7, 4), (), (8,), (6, 2)]
    nothing = model.encode(torch.zeros(4, 1, dtype=torch.long))
    together, _ = beam(model.decoder, nothing, settings, Prefix.of(prompts, CPU))
    for prompt, (hypothesis,) in zip(prompts, together, strict=True):
        one = model.encode(torch.zeros(1, 1, dtype=torch.long))
        ((alone,),), _ = beam(model.decoder, one, settings, Prefix.of([prompt], CPU))

        assert hypothesis.tokens[: len(prompt)] == prompt
        assert len(hypothesis.log_probabilities) <= settings.max_length
        assert (hypothesis.tokens, hypothesis.finish) == (alone.tokens, alone.finish)
        assert hypothesis.score == pytest.approx(alone.score, abs=1e-5)
        forced = forced_log_probabilities(model.decoder, one, 0, hypothesis)
        assert hypothesis.log_probabilities == pytest.approx(forced, abs=1e-5)


@pytest.mark.parametrize("name", [name for name in DECODERS if name.startswith("point-")])
def test_pointers_point_at_real_places_once_and_stop(name):
    decoder, encoded = encoded_of(name)
    assert isinstance(decoder, Pointer)
    eager = SETTINGS.model_copy(update={"min_length": SOURCE + 3, "max_length": SOURCE + 4})
    for settings in (SETTINGS.model_copy(update={"max_length": SOURCE + 1}), eager):
        found, _ = beam(decoder, encoded, settings)
        for hypotheses, length in zip(found, encoded.padding.lengths.tolist(), strict=True):
            for hypothesis in hypotheses:
                assert hypothesis.finish == "end"
                assert len(set(hypothesis.tokens)) == len(hypothesis.tokens)
                assert set(hypothesis.tokens) <= set(range(1, length + 1))
    assert [len(row[0].tokens) for row in found] == encoded.padding.lengths.tolist()


def test_half_precision_is_searched_in_single():
    model, example = fresh("transformer-shared").bfloat16(), example_of("transformer-shared")
    encoded = model.encode(example.source, example.lengths)
    found, _ = beam(model.decoder, encoded, SETTINGS)
    for row, hypotheses in enumerate(found):
        for hypothesis in hypotheses:
            with torch.no_grad():
                forced = forced_log_probabilities(model.decoder, encoded, row, hypothesis)
            assert hypothesis.log_probabilities == pytest.approx(forced, abs=0.1)
            assert hypothesis.score != torch.tensor(hypothesis.score).bfloat16().item()
