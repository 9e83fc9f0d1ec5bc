"""The lean form is the model: in float32 number for number, on integers as their arithmetic says."""

from random import Random

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.accelerate.cpu import lean, multiplies_whole
from regard.accelerate.cpu.cpu_block import attend
from regard.accelerate.cpu.kv_cache import HIDDEN, Kept
from regard.accelerate.cpu.product import ENOUGH, FloatProduct, WholeProduct, alone, product, shared
from regard.attention import Heads, watch
from regard.decode import DecodeSettings, Prefix, search
from regard.models import ModelSettings, Sizes, build, select
from regard.models.compress import from_rows, narrowed, to_rows
from regard.tasks.search import generate

SYMBOLS = 31

needs_whole = pytest.mark.skipif(not multiplies_whole(), reason="no whole-number products here")


def model_of(seed=1, *, language=False, share=True, reader=None, **side):
    """A small Transformer away from its smooth beginning."""
    torch.manual_seed(seed)
    side = {"kind": "transformer", "width": 12, "layers": 2, "heads": 3, "feedforward": 17, **side}
    tree = {"reader": {**side, **(reader or {})}, "share_embedding": share}
    if not language:
        tree["encoder"] = side
    sizes = Sizes(source=SYMBOLS, target=SYMBOLS, shared=share)
    model = build(ModelSettings.model_validate(tree), sizes).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.2)
    return model


def batch(seed, rows=5, length=7):
    chance = torch.Generator().manual_seed(seed)
    source = torch.randint(0, SYMBOLS, (rows, length), generator=chance)
    lengths = torch.randint(1, length + 1, (rows,), generator=chance)
    return source, lengths


def close(found, expected, tolerance=2e-5):
    return float((found - expected).abs().max()) <= tolerance * (1 + float(expected.abs().max()))


@settings(max_examples=20, deadline=None)
@given(
    seed=st.integers(0, 99),
    norm=st.sampled_from(["pre", "post"]),
    heads=st.sampled_from([1, 2, 3]),
    position=st.sampled_from(["sinusoidal", "sinusoidal-halves", "learned", "none"]),
    activation=st.sampled_from(["relu", "gelu", "gelu-tanh", "swish", "swiglu"]),
    score=st.sampled_from(["scaled-dot", "dot"]),
    key_width=st.sampled_from([None, 5]),
    tied=st.booleans(),
    share=st.booleans(),
    bias=st.booleans(),
    embedding_norm=st.booleans(),
    language=st.booleans(),
    slots=st.integers(1, 4),
)
def test_steps_of_reordered_hypotheses_are_the_models(
    seed, norm, heads, position, activation, score, key_width, tied, share, bias, embedding_norm,
    language, slots,
):  # fmt: skip
    model = model_of(
        seed,
        language=language,
        share=share,
        norm=norm,
        heads=heads,
        position=position,
        activation=activation,
        score=score,
        key_width=key_width,
        embedding_norm=embedding_norm,
        reader={"tied": tied, "output_bias": bias},
    )
    made = lean(model)
    assert made is not None
    source, lengths = batch(seed)
    chance = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        encoded, mine = model.encode(source, lengths), made.encode(source, lengths)
        if not language:
            real = ~encoded.padding.unseen(source.shape[1])
            assert close(mine.states[real], encoded.states[real])
        rows = torch.arange(len(source)).repeat_interleave(slots)
        plain = select(model.decoder.start(encoded, 23), rows)
        state = select(made.decoder.start(mine, 23), rows)
        for number in range(23):
            tokens = torch.randint(0, SYMBOLS, (len(rows),), generator=chance)
            expected, plain = model.decoder.step(plain, tokens)
            found, state = made.decoder.step(state, tokens)
            assert close(found, expected), number
            moved = torch.randint(0, slots, (len(rows),), generator=chance)
            chosen = torch.arange(len(rows)) // slots * slots + moved
            if number == 11:  # rows leave, the others stay in order
                chosen = chosen.view(-1, slots)[[0, 2, 3]].flatten()
                rows = rows[: 3 * slots]
            plain, state = select(plain, chosen), select(state, chosen)


def test_any_order_of_hypotheses_will_do():
    """Rows torn apart, doubled, or unevenly kept become rows of their own."""
    model = model_of()
    made = lean(model)
    source, lengths = batch(3)
    with torch.no_grad():
        plain = model.decoder.start(model.encode(source, lengths), 9)
        state = made.decoder.start(made.encode(source, lengths), 9)
        for chosen in ([0, 1, 0, 4, 4, 2], [5, 0, 0, 3], [1, 1, 1], [2, 0]):
            tokens = torch.arange(len(source)) + 3
            plain, state = (select(one, torch.tensor(chosen)) for one in (plain, state))
            source = tokens = torch.arange(len(chosen)) + 3
            expected, plain = model.decoder.step(plain, tokens)
            found, state = made.decoder.step(state, tokens)
            assert close(found, expected)


@pytest.mark.parametrize("beam", [1, 3])
@pytest.mark.parametrize("least", [0, 5])
def test_searches_find_the_same(beam, least):
    model = model_of(7)
    source, lengths = batch(7, rows=11)
    chosen = DecodeSettings(beam=beam, top_beams=beam, min_length=least, max_length=29)
    with torch.no_grad():
        expected = search(model.decoder, model.encode(source, lengths), chosen)
        made = lean(model)
        found = search(made.decoder, made.encode(source, lengths), chosen)
    for mine, theirs in zip(found, expected, strict=True):
        assert [one.tokens for one in mine] == [one.tokens for one in theirs]
        assert [one.score for one in mine] == pytest.approx([one.score for one in theirs], abs=1e-5)


@pytest.mark.parametrize(
    "chosen",
    [
        {"beam": 1},
        {"beam": 3, "top_beams": 2},
        {"beam": 7},
        {"sample": True, "temperature": 0.5},
    ],
)
def test_taking_turns_finds_the_same(chosen):
    made = lean(model_of(7))
    source, lengths = batch(7, rows=11)
    prefix = Prefix.of([[n % 5 + 3] * (n % 3) for n in range(11)], source.device)
    found = []
    for crowd in (6, 64):
        made.decoder.crowd = crowd
        with torch.no_grad():
            settings = DecodeSettings(max_length=13, **chosen)
            found.append(search(made.decoder, made.encode(source, lengths), settings, prefix))
    for mine, theirs in zip(*found, strict=True):
        assert [one.tokens for one in mine] == [one.tokens for one in theirs]
        assert [one.score for one in mine] == pytest.approx([one.score for one in theirs], abs=1e-5)


def test_no_rows_are_searched_for_nothing():
    made = lean(model_of())
    with torch.no_grad():
        encoded = made.encode(torch.zeros(0, 4, dtype=torch.long), torch.zeros(0, dtype=torch.long))
        assert search(made.decoder, encoded, DecodeSettings(beam=2)) == []


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 99), queries=st.integers(1, 4), filled=st.integers(1, 11))
def test_integer_keys_and_values_are_read_as_what_they_stand_for(seed, queries, filled):
    """Near float64, and to the last bit the same however few the rows are."""
    chance = torch.Generator().manual_seed(seed)
    rows, heads, room, width = 11, 3, 13, 5
    new = torch.randn(2, rows, heads, filled, width, generator=chance)
    new[:, 0, 0, 0] = 0.0
    query = torch.randn(rows, heads, queries, width, generator=chance)
    sight = torch.zeros(rows, 1, queries, filled)
    sight[..., 1::2] = HIDDEN
    many, few = (Kept.empty(n, heads, room, width, whole=True) for n in (rows, 5))
    many.write(new, 0)
    few.write(new[:, :5], 0)
    assert many.numbers.dtype == torch.int8
    assert few.numbers.dtype == torch.float32
    assert torch.equal(many.floats(filled)[:, :5], few.floats(filled))
    largest = new.abs().amax(-1, keepdim=True)
    assert bool(((many.floats(filled) - new).abs() <= largest / 127 * 0.51).all())
    key, value = many.floats(filled).double()
    scores = query.double() @ key.transpose(2, 3) + sight
    expected = torch.softmax(scores, -1) @ value
    together = attend(query, many, filled, sight, torch.empty(rows * many.numbers[0, 0].numel()))
    assert torch.allclose(together.double(), expected, atol=5e-3)
    for fit in (4, 1):  # rows on the scratch pad at once
        scratch = torch.empty(fit * many.numbers[0, 0].numel())
        assert torch.equal(attend(query, many, filled, sight, scratch), together)
    assert torch.equal(attend(query[:5], few, filled, sight[:5]), together[:5])


@settings(max_examples=20, deadline=None)
@given(
    seed=st.integers(0, 99),
    queries=st.sampled_from([1, 3, 70]),
    seen=st.integers(1, 40),
    others=st.integers(0, 30),
    width=st.sampled_from([4, 7, 64]),
    largest=st.sampled_from([127, 255]),
    size=st.sampled_from([1e-3, 1.0, 30.0]),
)
def test_what_a_query_reads_does_not_depend_on_where_it_lies(
    seed, queries, seen, others, width, largest, size
):
    """Not on the order of the entries, on hidden ones between them, or on other rows: to the last bit."""
    chance = torch.Generator().manual_seed(seed)
    new = torch.randn(2, 1, 2, seen, width, generator=chance) * size
    new *= torch.rand(2, 1, 2, seen, 1, generator=chance) * 3  # scales of their own
    query = torch.randn(1, 2, queries, width, generator=chance)
    alone = Kept.empty(1, 2, seen, width, whole=True, largest=largest)
    alone.write(new, 0)
    expected = attend(query, alone, seen, None)
    room, rows = seen + others, 9
    place = torch.randperm(room, generator=chance)[:seen]
    crowd = torch.randn(2, rows, 2, room, width, generator=chance) * 100
    crowd[:, 4:5, :, place] = new
    sight = torch.full((rows, 1, 1, room), HIDDEN)
    sight[:, :, :, place] = 0.0
    many = Kept.empty(rows, 2, room, width, whole=True, largest=largest)
    many.write(crowd, 0)
    asked = torch.randn(rows, 2, queries, width, generator=chance)
    asked[4:5] = query
    assert torch.equal(attend(asked, many, room, sight)[4:5], expected)


def test_long_texts_are_read_exactly_too():
    """With so many keys that their weights no longer add up exactly in float32."""
    new, query = torch.randn(2, 1, 1, 1500, 4) * 0.1, torch.randn(1, 1, 2, 4)
    order = torch.randperm(1500)
    found = []
    for entries in (new, new[:, :, :, order]):
        kept = Kept.empty(1, 1, 1500, 4, whole=True)
        kept.write(entries, 0)
        found.append(attend(query, kept, 1500, None))
    assert torch.equal(*found)
    exact = torch.softmax(query @ new[0].transpose(2, 3), -1) @ new[1]
    assert torch.allclose(found[0], exact, atol=2e-3)


@needs_whole
@settings(max_examples=6, deadline=None)
@given(
    seed=st.integers(0, 99),
    norm=st.sampled_from(["pre", "post"]),
    heads=st.sampled_from([1, 2, 3]),
    activation=st.sampled_from(["relu", "gelu", "gelu-tanh", "swish", "swiglu"]),
    inner=st.sampled_from([17, 64]),
    width=st.sampled_from([12, 36]),
    beam=st.integers(1, 4),
    least=st.sampled_from([0, 9]),
    language=st.booleans(),
)
def test_an_int8_answer_is_the_same_alone_and_in_company(
    seed, norm, heads, activation, inner, width, beam, least, language
):
    """To the last bit of every score, with neighbours of any number, length and order."""
    model = model_of(
        seed,
        norm=norm,
        heads=heads,
        activation=activation,
        feedforward=inner,
        width=width,
        language=language,
    )
    made = lean(model, "int8")
    chance = Random(seed)
    texts = [
        [chance.randrange(3, SYMBOLS) for _ in range(chance.randint(1, 21))] for _ in range(11)
    ]
    settings = DecodeSettings(beam=beam, top_beams=beam, min_length=least, max_length=12)

    def answers(chosen):
        rows = [np.array([] if language else texts[one], np.int32) for one in chosen]
        prompts = [texts[one][:3] if language else [] for one in chosen]
        write = lambda ids: (" ".join(map(str, ids)), ())  # noqa: E731
        return generate(made, rows, settings, write, tokens=4096, prefixes=prompts)

    for size in (2, 11):  # below and above what is kept in float32
        chosen = chance.sample(range(11), size)
        for one, answer in list(zip(chosen, answers(chosen), strict=True))[:3]:
            assert answers([one]) == [answer]


def test_whole_keys_and_values_move_with_their_scales():
    kept = Kept.empty(9, 2, 4, 3, whole=True)
    kept.write(torch.randn(2, 9, 2, 4, 3) * torch.logspace(-3, 3, 9).view(9, 1, 1, 1), 0)
    before = kept.floats(4).clone()
    rows = torch.tensor([8, 0, 3])
    assert torch.equal(kept.select(rows, 4).floats(4), before[:, rows])
    assert torch.equal(kept.moved(3, 7).floats(3), before[:, :, :, :3])
    order = torch.tensor([[3, 1]] * 4 + [[0, 2]] * 5)
    for room in (6, 4):  # the smaller one is where they are
        found = kept.pruned(order, room).floats(2)
        assert torch.equal(found[:, :4], before[:, :4, :, [3, 1]])
        assert torch.equal(found[:, 4:], before[:, 4:, :, [0, 2]])


def test_one_thread_works_unless_there_is_enough_for_all():
    threads = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        with alone(whole=False):
            assert torch.get_num_threads() == 2
        with alone(whole=True), alone(whole=True):
            assert torch.get_num_threads() == 1
            assert shared(ENOUGH, torch.get_num_threads) == 2
            assert shared(ENOUGH - 1, torch.get_num_threads) == 1
            with pytest.raises(TypeError):
                shared(ENOUGH, torch.get_num_threads, 1)
            assert torch.get_num_threads() == 1
        assert torch.get_num_threads() == 2
        assert shared(ENOUGH, torch.get_num_threads) == 2
    finally:
        torch.set_num_threads(threads)


def test_entries_nobody_descends_from_are_dropped():
    made = lean(model_of())
    source, lengths = batch(1, rows=2)
    with torch.no_grad():
        rows = torch.arange(2).repeat_interleave(4)
        state = select(made.decoder.start(made.encode(source, lengths), 200), rows)
        for _ in range(100):
            _, state = made.decoder.step(state, torch.ones(8, dtype=torch.long))
            state = select(state, torch.tensor([0, 0, 0, 0, 4, 4, 4, 4]))  # all from the first
    assert state.cache.filled < 2 * 100, "100 symbols of one path, not 400 of four"


def test_a_source_of_nothing_is_read_as_nothing():
    model = model_of()
    made = lean(model)
    source = torch.ones(3, 5, dtype=torch.long)
    lengths = torch.tensor([5, 0, 2])
    inputs = torch.randint(0, SYMBOLS, (3, 4))
    with torch.no_grad():
        encoded, mine = model.encode(source, lengths), made.encode(source, lengths)
        expected, found = model.decoder(encoded, inputs), made.decoder(mine, inputs)
    assert close(found[[0, 2]], expected[[0, 2]])
    assert bool(found.isfinite().all())


@pytest.mark.parametrize(
    "other",
    [
        {"score": "additive"},
        {"normalise": "sparsemax"},
        {"position": "rotary", "heads": 2},
        {"position": "alibi"},
        {"norm_form": "plain"},
        {"reach": "window", "reach_size": 3},
        {"value_width": 5},
    ],
)
def test_what_is_not_standard_stays_as_it_is(other):
    assert lean(model_of(**other)) is None


@pytest.mark.parametrize("weights", ["float32", "int8"])
def test_gates_are_in_the_lean_form(weights):
    """A gate times a sum of values is a sum of gated values, in floats and in integers with scales."""
    model = model_of()
    gates = torch.tensor([0.5, 0.0, -2.0])
    heads = [part for part in model.modules() if isinstance(part, Heads)]
    assert len(heads) == 6
    source, lengths = batch(2)
    inputs = torch.randint(0, SYMBOLS, (5, 6))
    with torch.no_grad():
        before = model(source, lengths, inputs)
        for number, one in enumerate(heads):
            one.gate = gates.roll(number)
        expected, found = model(source, lengths, inputs), lean(model, weights)
        assert found.encoder is not model.encoder
        assert found.reader is not model.reader
        away = (found(source, lengths, inputs) - expected).abs().max()
    assert away < (1e-4 if weights == "float32" else 0.1 * (before - expected).abs().max())


def test_stored_integers_are_gated_too():
    """Integers with scales from a file are packed as they are; gates go to their scales and signs."""
    model = model_of()
    model.encoder.blocks[0].attention.gate = torch.tensor([0.5, 0.0, -2.0])
    model.reader.blocks[1].cross.gate = torch.tensor([0.0, -1.0, 3.0])
    source, lengths = batch(2)
    inputs = torch.randint(0, SYMBOLS, (5, 6))
    with torch.no_grad():
        expected = lean(model, "int8")(source, lengths, inputs)
        stored = narrowed(model.state_dict(), "int8")
        found = lean(model, "int8", stored)(source, lengths, inputs)
    torch.testing.assert_close(found, expected, atol=1e-2, rtol=0)


def test_pruned_heads_are_gone_from_the_lean_form():
    model = model_of()
    model.reader.blocks[0].attention.keep([0, 2])
    model.encoder.blocks[1].attention.keep([1])
    made = lean(model)
    source, lengths = batch(2)
    inputs = torch.randint(0, SYMBOLS, (5, 6))
    with torch.no_grad():
        expected = model(source, lengths, inputs)
        assert close(made(source, lengths, inputs), expected)


@settings(max_examples=20, deadline=None)
@given(
    rows=st.integers(1, 40),
    columns=st.integers(1, 67),
    out=st.integers(1, 37),
    seed=st.integers(0, 99),
    size=st.sampled_from([1e-6, 1.0, 1e4]),
    bias=st.booleans(),
)
@needs_whole
def test_whole_products_are_their_own_arithmetic(rows, columns, out, seed, size, bias):
    """Against float64: both sides rounded to integers, an exact sum, two scales and a bias."""
    chance = torch.Generator().manual_seed(seed)
    x = torch.randn(rows, columns, generator=chance) * size
    weight, shift = torch.randn(out, columns, generator=chance), torch.randn(out, generator=chance)
    whole, scale = to_rows(weight)
    most = 255 if torch.cpu._is_vnni_supported() else 127
    for after_relu in (False, True):
        read = x.clamp(min=0) if after_relu else x
        each = read.abs().amax(1, keepdim=True) / (most if after_relu else most // 2) + 1e-30
        exact = (read / each).round().double() @ whole.double().T * scale.double() * each.double()
        exact = exact + shift.double() if bias else exact
        found = WholeProduct(whole, scale, shift if bias else None, after_relu=after_relu)(x)
        # A row's number that lies between two whole ones may go either way.
        slack = 1e-5 * exact.abs().max() + (each * scale).max() * 127 * 1.01
        assert bool(((found - exact).abs() <= slack).all())
        typical = (found - exact).abs().median()
        assert float(typical) <= 1e-5 * (1 + float(exact.abs().max()))


@needs_whole
def test_a_row_does_not_depend_on_its_neighbours_on_whole_numbers():
    whole = product(torch.randn(37, 53), None, torch.randn(37), "int8")
    x = torch.randn(40, 53) * torch.logspace(-3, 3, 40).unsqueeze(1)
    together = whole(x)
    for first, last in ((0, 1), (17, 18), (39, 40), (3, 20)):
        assert torch.equal(together[first:last], whole(x[first:last]))


@needs_whole
@pytest.mark.parametrize("value", [0.0, -3.0])
def test_rows_of_one_number(value):
    weight = torch.randn(7, 5)
    found = product(weight, None, None, "int8")(torch.full((2, 5), value))
    expected = torch.full((2, 5), value) @ from_rows(*to_rows(weight)).T
    assert torch.allclose(found, expected, atol=1e-5)


@needs_whole
@pytest.mark.parametrize("norm", ["pre", "post"])
def test_whole_numbers_stay_near_the_model(norm):
    model = model_of(3, norm=norm, width=64, heads=4, feedforward=128)
    made = lean(model, "int8")
    source, lengths = batch(5)
    inputs = torch.randint(0, SYMBOLS, (5, 6))
    with torch.no_grad():
        expected = model(source, lengths, inputs).log_softmax(-1)
        found = made(source, lengths, inputs).log_softmax(-1)
    assert float((found - expected).abs().mean()) < 0.15 * float(expected.std())


@needs_whole
def test_stored_whole_numbers_give_the_same_as_rounding_now():
    model = model_of()
    state = narrowed(model.state_dict(), "int8")
    with torch.device("meta"):
        outline = build(
            ModelSettings.model_validate(
                {
                    side: {
                        "kind": "transformer",
                        "width": 12,
                        "layers": 2,
                        "heads": 3,
                        "feedforward": 17,
                    }
                    for side in ("encoder", "reader")
                }
            ),
            Sizes(source=SYMBOLS, target=SYMBOLS, shared=True),
        )
    source, lengths = batch(5)
    inputs = torch.randint(0, SYMBOLS, (5, 6))
    with torch.no_grad():
        one = lean(model, "int8")(source, lengths, inputs)
        two = lean(outline, "int8", dict(state))(source, lengths, inputs)
        three = lean(outline, "float32", dict(state))(source, lengths, inputs)
    assert torch.equal(one, two)
    assert close(three, one, 0.2)


@needs_whole
@pytest.mark.parametrize("kind", ["tag", "classify", "rnn"])
def test_a_reader_that_stays_gets_its_own_tensors(kind):
    """Also where integers come from a file and the model is an outline without memory."""
    side = {"kind": "transformer", "width": 12, "layers": 1, "heads": 3, "feedforward": 17}
    tree = ModelSettings.model_validate({"encoder": side, "reader": {"kind": kind}})
    sizes = Sizes(source=SYMBOLS, target=SYMBOLS, labels=5)
    model, outline = (build(tree, sizes).eval() for _ in range(2))
    for parameter in outline.parameters():
        parameter.data = torch.full((1,), torch.nan).expand(parameter.shape)
    made = lean(outline, "int8", narrowed(model.state_dict(), "int8"))
    source, lengths = batch(5)
    inputs = (torch.randint(0, SYMBOLS, (5, 6)),) if kind == "rnn" else ()
    with torch.no_grad():
        expected, found = model(source, lengths, *inputs), made(source, lengths, *inputs)
    assert close(found, expected, 0.1)


def test_one_row_and_many_are_the_same_product():
    weight, bias, x = torch.randn(37, 53), torch.randn(37), torch.randn(23, 53)
    made, many = FloatProduct(weight, bias), FloatProduct(weight, bias, few=False)
    expected = x.double() @ weight.double().T + bias.double()
    together = made(x)
    alone = torch.cat([made(row) for row in x.split(1)])
    for found in (together, alone, many(x), torch.cat([many(row) for row in x.split(1)])):
        assert torch.allclose(found.double(), expected, atol=1e-4)
    assert torch.allclose(made.relu(x).double(), expected.clamp(min=0), atol=1e-4)
    states = torch.randn(23, 37)
    assert torch.allclose(made.onto(x, states.clone()).double(), states + expected, atol=1e-4)


def test_a_lean_model_has_nothing_to_watch():
    made = lean(model_of())
    with watch(made) as seen:
        made(*batch(1), torch.ones(5, 2, dtype=torch.long))
    assert list(seen) == []
