"""Several sources: every way to combine them takes steps, hides padding, and bears a missing source."""

import pytest
import torch

from regard.accelerate.cpu import lean
from regard.errors import UsageError
from regard.models import ModelSettings, Padded, Sizes, SourceSize, build

BLOCKS = {
    "kind": "transformer",
    "width": 12,
    "layers": 2,
    "heads": 3,
    "feedforward": 17,
    "dropout": 0.0,
}
RNN = {"kind": "rnn", "width": 12, "dropout": 0.0}
GRID = {**BLOCKS, "front": {"kind": "patches", "size": 2}, "position": "none"}
SIZES = Sizes(
    target=11, sources={"words": SourceSize(symbols=7), "picture": SourceSize(features=12, rows=4)}
)
WAYS = [
    (kind, how)
    for kind in ("rnn", "transformer")
    for how in ("flat", "parallel", "serial", "hierarchical")
]


def model_of(kind, how):
    torch.manual_seed(5)
    reader = {**(RNN if kind == "rnn" else BLOCKS), "combine": how}
    settings = ModelSettings.model_validate(
        {"encoders": {"words": RNN, "picture": GRID}, "reader": reader}
    )
    return build(settings, SIZES).eval()


def sources(batch=3, *, void=0.0):
    torch.manual_seed(7)
    words = torch.randint(0, 7, (batch, 5))
    picture = torch.randn(batch, 6, 12)
    lengths = torch.tensor([6, 4, 2][:batch])
    for row, length in enumerate(lengths.tolist()):
        picture[row, length:] = void
    return {
        "words": Padded(words, torch.tensor([5, 3, 4][:batch])),
        "picture": Padded(picture, lengths),
    }


def test_settings_for_one_of_several_sources_are_refused_where_there_is_one():
    """They were ignored, and then the weights had no room for them: a run that no command could read."""
    settings = ModelSettings.model_validate(
        {"encoder": RNN, "encoders": {"left": BLOCKS}, "reader": RNN}
    )
    with pytest.raises(UsageError) as refused:
        build(settings, Sizes(source=7, target=11))
    assert refused.value.where == "model.encoders.left"


@pytest.mark.parametrize(("kind", "how"), WAYS)
def test_forced_equals_stepped(kind, how):
    model, inputs = model_of(kind, how), torch.randint(0, 11, (3, 4))
    with torch.inference_mode():
        expected = model(sources(), None, inputs)
        state = model.decoder.start(model.encode(sources()), 4)
        for place, tokens in enumerate(inputs.unbind(1)):
            logits, state = model.decoder.step(state, tokens)
            torch.testing.assert_close(logits, expected[:, place], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("kind", "how"), WAYS)
def test_padding_is_never_read(kind, how):
    model, inputs = model_of(kind, how), torch.randint(0, 11, (3, 4))
    with torch.inference_mode():
        clean, dirty = (model(sources(void=void), None, inputs) for void in (0.0, float("nan")))
    torch.testing.assert_close(clean, dirty)


@pytest.mark.parametrize(("kind", "how"), WAYS)
def test_a_row_does_not_depend_on_its_neighbours(kind, how):
    model, inputs = model_of(kind, how), torch.randint(0, 11, (3, 4))
    with torch.inference_mode():
        together = model(sources(), None, inputs)
        alone = {name: Padded(one.values[1:2], one.lengths[1:2]) for name, one in sources().items()}
        torch.testing.assert_close(
            model(alone, None, inputs[1:2]), together[1:2], rtol=1e-4, atol=1e-5
        )


@pytest.mark.parametrize(("kind", "how"), WAYS)
def test_every_source_counts_and_gets_gradients(kind, how):
    model, inputs = model_of(kind, how), torch.randint(0, 11, (3, 4))
    model(sources(), None, inputs).square().sum().backward()
    for name, encoder in model.encoders.items():
        assert all(
            p.grad is not None and p.grad.abs().sum() > 0 for p in encoder.embedding.parameters()
        ), name


@pytest.mark.parametrize(("kind", "how"), WAYS)
def test_a_missing_source_is_a_source_of_no_length(kind, how):
    model, inputs = model_of(kind, how), torch.randint(0, 11, (3, 4))
    given = sources()
    given["picture"] = Padded(
        torch.full((3, 6, 12), float("nan")), torch.zeros(3, dtype=torch.long)
    )
    with torch.inference_mode():
        assert model(given, None, inputs).isfinite().all()


def test_states_of_a_picture_lie_column_after_column():
    model = model_of("transformer", "parallel")
    front = model.encoders["picture"].embedding
    given = sources()["picture"]
    embedded = front.read(given.values, None)
    assert embedded.states.shape == (3, 6, 12)
    assert embedded.rows == 2
    pixels = given.values.reshape(3, 3, 2, 2, 2, 3)  # columns, inside, rows, inside, channels
    square = pixels[:, 1, :, 1].flatten(1)  # the second column, second row
    position = embedded.states[0, 3] - front.project(square)[0]
    other = embedded.states[1, 3] - front.project(square)[1]
    torch.testing.assert_close(position, other)


def test_a_reader_of_one_source_refuses_two():
    from regard.errors import UsageError

    settings = ModelSettings.model_validate({"encoder": RNN, "reader": {"kind": "classify"}})
    with pytest.raises(UsageError, match="reads one source"):
        build(settings, Sizes(labels=3, sources=SIZES.sources))


@pytest.mark.parametrize("how", ["flat", "parallel", "serial", "hierarchical"])
def test_no_fast_form_takes_what_it_does_not_know(how):
    assert lean(model_of("transformer", how)) is None
