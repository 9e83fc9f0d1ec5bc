"""A model is an encoder and a reader, and says in words what it cannot do."""

import pytest
import torch
from torch import nn

from regard.errors import UsageError
from regard.models import count_parameters
from tests.models.zoo import example_of, fresh, model_of


@pytest.mark.parametrize(
    ("name", "reader"), [("rnn-gru-bi-1-tag", "tagger"), ("classify-mean", "classifier")]
)
def test_a_reader_of_labels_does_not_generate(name, reader):
    with pytest.raises(UsageError) as fault:
        _ = model_of(name).decoder

    assert str(fault.value) == (
        f"a {reader} does not generate\n"
        "model.reader\n"
        "search needs a model with a decoder or a pointer"
    )


def test_a_decoder_must_be_told_what_to_follow():
    example = example_of("rnn-none")
    with pytest.raises(UsageError) as fault:
        model_of("rnn-none")(example.source, example.lengths)

    assert str(fault.value) == (
        "a decoder is forced along given symbols\n"
        "inputs\n"
        "give the target so far as inputs, or search with regard.beam(model.reader, ...)"
    )


def test_a_language_model_reads_only_what_it_says():
    model, example = model_of("lm-pre-sinusoidal"), example_of("lm-pre-sinusoidal")
    encoded = model.encode(example.source)

    assert encoded.states.shape == (4, 0, 1)
    assert torch.equal(model(example.source + 1, None, example.inputs), example.logits(model))


def test_shared_weights_count_once():
    both = nn.ModuleList([nn.Linear(3, 5), nn.Linear(3, 5)])
    assert count_parameters(both) == 2 * (3 * 5 + 5)
    both[1].weight = both[0].weight
    assert count_parameters(both) == 3 * 5 + 2 * 5


@pytest.mark.parametrize("name", ["transformer-pre-learned", "transformer-learned-at-heads"])
def test_a_learned_position_past_its_table_is_refused_with_both_numbers(name):
    model, example = model_of(name), example_of(name)
    inputs = torch.ones(4, 23, dtype=torch.long)
    message = (
        "learned positions end at 19, and {} were asked for\n"
        "Learned.max_length\n"
        "shorten the input, raise max_length before training, or use sinusoidal"
    )
    with pytest.raises(UsageError) as fault:
        model(example.source, example.lengths, inputs)
    assert str(fault.value) == message.format(23)

    state = model.decoder.start(model.encode(example.source, example.lengths), 23)
    for _ in range(19):
        _, state = model.decoder.step(state, inputs[:, 0])
    with pytest.raises(UsageError) as fault:
        model.decoder.step(state, inputs[:, 0])
    assert str(fault.value) == message.format(20)


@pytest.mark.parametrize(
    "name", ["transformer-pre-sinusoidal", "transformer-pre-rotary", "rnn-none"]
)
def test_other_positions_know_no_end(name):
    model, example = model_of(name), example_of(name)

    assert (
        model(example.source, example.lengths, torch.ones(4, 600, dtype=torch.long))
        .isfinite()
        .all()
    )


def test_half_precision_stays_half_and_finite():
    model, example = fresh("transformer-shared").bfloat16(), example_of("transformer-shared")
    logits = example.logits(model)

    assert logits.dtype == torch.bfloat16
    assert logits.isfinite().all()
