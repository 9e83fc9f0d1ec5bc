"""Settings become modules in one place; what cannot be built is refused in words."""

import pytest
import torch

from regard.attention import Alibi, Causal, Learned, Rotary, Sinusoidal, Strided, Window
from regard.errors import UsageError
from regard.layers import Frames
from regard.models import (
    ClassifySettings,
    ModelSettings,
    Pointer,
    RnnDecoder,
    Sizes,
    TagSettings,
    TransformerDecoder,
    TransformerEncoder,
    build,
    count_parameters,
)
from regard.settings.architecture import ConvolutionFrontSettings
from tests.models.zoo import (
    POINTS,
    WORDS,
    pointer,
    rnn,
    rnn_reader,
    transformer,
    transformer_reader,
)

SHARED = Sizes(source=13, target=13, shared=True)


def refused(settings, sizes=WORDS):
    with pytest.raises(UsageError) as fault:
        build(settings, sizes)
    return str(fault.value)


@pytest.mark.parametrize(
    ("reader", "kind"),
    [(TagSettings(), "tag"), (ClassifySettings(), "classify"), (pointer(), "point")],
)
def test_a_reader_that_only_reads_needs_an_encoder(reader, kind):
    assert refused(ModelSettings(reader=reader)) == (
        f"a '{kind}' reader needs an encoder to read from\n"
        "model.encoder\n"
        "add [model.encoder] with kind = 'rnn' or 'transformer'"
    )


@pytest.mark.parametrize(
    ("reader", "sizes"),
    [
        (TagSettings(), WORDS),
        (pointer(), POINTS),
        (rnn_reader(copies=True), Sizes(source=13, target=13, shared=True)),
    ],
)
@pytest.mark.parametrize(
    ("name", "encoder"),
    [
        ("pyramid", rnn(layers=2, pyramid=1)),
        ("front", rnn(front=ConvolutionFrontSettings(channels=(4,)))),
    ],
)
def test_what_is_about_single_symbols_needs_a_state_for_each(reader, sizes, name, encoder):
    """A tagger and a pointer failed at the first step, with a fault of torch."""
    if name == "front" and reader.kind != "point":
        return  # a convolution reads no text
    fault = refused(ModelSettings(encoder=encoder, reader=reader), sizes)
    assert "needs a state for each symbol" in fault
    assert f"leave model.encoder.{name} out" in fault


def test_two_directions_need_an_even_width():
    assert refused(ModelSettings(encoder=rnn(width=7), reader=TagSettings())) == (
        "two directions share the width half and half; 7 is odd\nwidth\nchoose an even width"
    )


def test_heads_must_divide_the_width_or_be_told_theirs():
    settings = ModelSettings(encoder=transformer(heads=5), reader=TagSettings())
    assert refused(settings) == (
        "width 12 does not divide into 5 heads\n"
        "num_heads\n"
        "choose one of [1, 2, 3, 4, 6, 12], or give key_width yourself"
    )
    told = ModelSettings(encoder=transformer(heads=5, key_width=3), reader=TagSettings())
    assert build(told, WORDS).encoder.blocks[0].attention.output.in_features == 15


def test_a_vocabulary_of_nothing_is_refused():
    assert refused(ModelSettings(reader=rnn_reader(score="none")), Sizes()) == (
        "a vocabulary has at least one symbol, not 0\nsizes\n"
        "give the sizes of the vocabulary: Sizes(source=8000, target=8000)"
    )


@pytest.mark.parametrize("reader", [TagSettings(), ClassifySettings()])
def test_labels_of_nothing_are_refused(reader):
    settings = ModelSettings(encoder=rnn(), reader=reader)
    told = refused(settings, Sizes(source=11))
    assert told.startswith("there is at least one label, not 0\nsizes\n")


def test_scores_that_multiply_neurons_need_equal_widths():
    settings = ModelSettings(encoder=rnn(width=10), reader=rnn_reader(score="dot"))
    assert refused(settings) == (
        "the dot score multiplies query and key neuron by neuron: width 6 does not meet width 10\n"
        "score\n"
        "make the widths equal, or take general or additive"
    )


def test_positions_inside_heads_need_equal_widths():
    encoder = transformer(position_at="heads", key_width=4, value_width=5)
    assert refused(ModelSettings(encoder=encoder, reader=TagSettings())) == (
        "positions are added to q, k and v alike: key width 4 and value width 5 differ\n"
        "position_at\n"
        "make them equal, or add positions at the input"
    )


def test_rotary_needs_pairs_of_neurons():
    encoder = transformer(position="rotary", key_width=5)
    assert refused(ModelSettings(encoder=encoder, reader=TagSettings())) == (
        "rotary positions turn pairs of neurons; a head of width 5 has one left over\n"
        "Rotary.width\n"
        "choose an even head width"
    )


@pytest.mark.parametrize(
    ("reader", "kind"),
    [(rnn_reader(), RnnDecoder), (transformer_reader(), TransformerDecoder), (pointer(), Pointer)],
)
def test_every_decoder_reads_either_encoder(reader, kind):
    for encoder in (rnn(), transformer()):
        model = build(ModelSettings(encoder=encoder, reader=reader), WORDS)
        assert isinstance(model.decoder, kind)
        assert (model.decoder.begin, model.decoder.end) == ((0, 0) if kind is Pointer else (1, 2))


def test_settings_of_blocks_reach_the_modules():
    encoder = build(
        ModelSettings(
            encoder=transformer(reach="strided", position="sinusoidal-halves", position_base=100.0),
            reader=TagSettings(),
        ),
        WORDS,
    ).encoder
    assert isinstance(encoder, TransformerEncoder)
    assert encoder.mask == Strided(2)
    assert isinstance(encoder.embedding.position, Sinusoidal)
    assert (encoder.embedding.position.base, encoder.embedding.position.layout) == (100.0, "halves")

    reader = build(
        ModelSettings(reader=transformer_reader(reach="window", position="learned")), WORDS
    )
    assert reader.decoder.mask == Causal() & Window(2, 2)
    assert isinstance(reader.decoder.embedding.position, Learned)


@pytest.mark.parametrize(("position", "kind"), [("alibi", Alibi), ("rotary", Rotary)])
def test_positions_inside_heads_serve_self_attention_alone(position, kind):
    settings = ModelSettings(
        encoder=transformer(position=position), reader=transformer_reader(position=position)
    )
    model = build(settings, WORDS)
    within = [model.encoder.blocks[0].attention, model.reader.blocks[0].attention]
    for heads, placed in (
        (within[0], True),
        (within[1], True),
        (model.reader.blocks[0].cross, False),
    ):
        found = heads.attention.bias if kind is Alibi else heads.position
        assert isinstance(found, kind) == placed


def test_a_pointer_over_places_has_one_more_for_its_stop_sign():
    settings = ModelSettings(encoder=rnn(), reader=pointer(score="location", max_length=7))
    model = build(settings, POINTS).eval()
    inputs = torch.zeros(1, 1, dtype=torch.long)

    assert model(torch.randn(1, 7, 2), None, inputs).shape == (1, 1, 8)
    with pytest.raises(UsageError, match="the location score has 8 positions"):
        model(torch.randn(1, 8, 2), None, inputs)


def test_only_pre_norm_ends_in_a_norm():
    for order, bare in (("pre", False), ("post", True)):
        model = build(ModelSettings(encoder=transformer(norm=order), reader=TagSettings()), WORDS)
        assert (model.encoder.norm is None) == bare


def test_frames_take_the_place_of_an_embedding():
    model = build(ModelSettings(encoder=transformer(), reader=TagSettings()), POINTS)

    assert isinstance(model.encoder.embedding, Frames)


def test_a_shared_vocabulary_shares_one_table_when_widths_agree():
    settings = ModelSettings(encoder=transformer(), reader=transformer_reader())
    one = build(settings, SHARED)
    assert one.encoder.embedding.table is one.reader.embedding.table
    assert one.reader.output.weight is one.encoder.embedding.table.weight

    for apart in (
        build(settings.model_copy(update={"share_embedding": False}), SHARED),
        build(settings, Sizes(source=13, target=13)),
        build(ModelSettings(encoder=rnn(), reader=transformer_reader()), SHARED),
    ):
        assert apart.encoder.embedding.table is not apart.reader.embedding.table
    assert count_parameters(build(settings, Sizes(source=13, target=13))) == (
        count_parameters(one) + 13 * 12
    )


def test_a_transformer_counts_as_its_formula_says():
    """Width d, inner f, vocabulary v, labels c: v d + layers (4 (d d + d) + 2 d f + f + d + 4 d) + 2 d."""
    d, f, v, layers, labels = 12, 17, 11, 2, 5
    attention, feedforward, norms = 4 * (d * d + d), 2 * d * f + f + d, 2 * 2 * d
    expected = v * d + layers * (attention + feedforward + norms) + 2 * d + labels * d + labels

    model = build(ModelSettings(encoder=transformer(layers=2), reader=TagSettings()), WORDS)

    assert count_parameters(model) == expected


@pytest.mark.parametrize(("cell", "gates"), [("elman", 1), ("gru", 3), ("lstm", 4)])
def test_an_rnn_counts_as_its_formula_says(cell, gates):
    d, v, labels = 6, 11, 5
    half = d // 2
    one_way = gates * (half * d + half * half + 2 * half)

    model = build(ModelSettings(encoder=rnn(cell=cell), reader=TagSettings()), WORDS)

    assert count_parameters(model) == v * d + 2 * one_way + labels * d + labels
