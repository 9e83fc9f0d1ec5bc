"""Modules that people write themselves: what is seen is what multiplied their values, or nothing is."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from regard.errors import UsageError
from regard.interop.recorder import watch

BATCH, HEADS, QUERIES, KEYS, WIDTH = 2, 3, 5, 7, 4
MASK = torch.rand(QUERIES, KEYS, generator=torch.Generator().manual_seed(2)) > 0.4
MASK[:, 0] = True


def states(*lead, seed=3):
    """Queries, keys and values behind these axes."""
    chance = torch.Generator().manual_seed(seed)
    lead = lead or (BATCH, HEADS)
    return [torch.randn(*lead, n, WIDTH, generator=chance) for n in (QUERIES, KEYS, KEYS)]


def scaled(query, key, mask=None):
    scores = query @ key.mT / WIDTH**0.5
    if mask is not None:
        scores = (
            scores.masked_fill(~mask, -torch.inf) if mask.dtype == torch.bool else scores + mask
        )
    return scores.softmax(-1)


class Says(nn.Module):
    """Calls a function, which gives a context and the weights that made it."""

    def __init__(self, function):
        super().__init__()
        self.function = function
        self.mix = nn.Linear(HEADS, HEADS)
        self.turn = nn.Conv2d(HEADS, HEADS, 1)

    def forward(self):
        context, self.weights = self.function(self)
        return context


@torch.no_grad()
def seen_in(model):
    expected = model()
    with watch(model) as seen:
        assert torch.equal(model(), expected)
    return [call.weights for path in seen for call in seen[path]]


MASKS = {
    "of a head": ((3, 3), (3, QUERIES, KEYS)),
    "of a head, in another batch": ((2, 3), (3, QUERIES, KEYS)),
    "of three axes": ((3,), (3, QUERIES, KEYS)),
    "of two axes for three": ((3,), (QUERIES, KEYS)),
    "of two axes": ((), (QUERIES, KEYS)),
    "of five axes": ((2, 3, 2), (1, 3, 1, QUERIES, KEYS)),
    "of four axes for five": ((2, 3, 2), (3, 1, QUERIES, KEYS)),
    "of two axes for five": ((2, 3, 2), (QUERIES, KEYS)),
}


@pytest.mark.parametrize("kind", ["bool", "float"])
@pytest.mark.parametrize("name", MASKS)
def test_a_mask_lines_up_with_the_last_axes_of_scores(name, kind):
    lead, sizes = MASKS[name]
    chance = torch.Generator().manual_seed(1)
    query, key, value = (torch.randn(*lead, n, WIDTH, generator=chance) for n in (5, 7, 7))
    mask = torch.randn(*sizes, generator=chance)
    mask = (mask > 0).index_fill(-1, torch.tensor([2]), True) if kind == "bool" else mask
    model = Says(lambda _: (F.scaled_dot_product_attention(query, key, value, mask), None))
    (found,) = seen_in(model)
    expected = scaled(query, key, mask)
    torch.testing.assert_close(found.reshape(expected.shape), expected)
    assert found.shape[:2] == {0: (1, 1), 1: (3, 1), 2: (lead), 3: (6, 2)}[len(lead)]
    with torch.no_grad(), watch(model, lambda _, one: one.weights):
        torch.testing.assert_close(model(), expected @ value)


THEN = {  # what is done with weights before they multiply values
    "nothing": lambda w, _: w,
    "masked": lambda w, _: w * MASK,
    "renormalised": lambda w, _: (w * MASK) / (w * MASK).sum(-1, keepdim=True),
    "filled": lambda w, _: w.masked_fill(~MASK, 0.0),
    "filled in place": lambda w, _: w.masked_fill_(~MASK, 0.0),
    "multiplied in place": lambda w, _: w.mul_(MASK),
    "chosen": lambda w, _: torch.where(MASK, w, torch.zeros(())),
    "the best two": lambda w, _: torch.zeros_like(w).scatter(
        -1, w.topk(2).indices, w.topk(2).values
    ),
    "cut off": lambda w, _: F.threshold(w, 0.1, 0.0),
    "squared": lambda w, _: F.normalize(w**2, p=1, dim=-1),
    "less another": lambda w, _: w - 0.5 * w.flip(-1).softmax(-1),
    "moved": lambda w, _: w.clone().contiguous(),
    "without dropout": lambda w, _: F.dropout(w, 0.5, training=False),
}
MIXED = {  # over heads
    "by a linear map": lambda w, m: m.mix(w.permute(0, 2, 3, 1)).permute(0, 3, 1, 2),
    "by a convolution": lambda w, m: m.turn(w),
    "by einsum": lambda w, m: torch.einsum("bhqk,hg->bgqk", w, m.mix.weight),
    "by matmul": lambda w, m: (w.permute(0, 2, 3, 1) @ m.mix.weight).permute(0, 3, 1, 2),
}


@pytest.mark.parametrize(
    ("then", "axes"),
    [(name, axes) for name in THEN for axes in (2, 3, 4)] + [(name, 4) for name in MIXED],
)
def test_weights_are_those_that_multiply_values(then, axes):
    query, key, value = (one[(0,) * (4 - axes)] for one in states())

    def function(module):
        weights = (THEN | MIXED)[then]((query @ key.mT).softmax(-1), module)
        return weights @ value, weights

    model = Says(function)
    (found,) = seen_in(model)
    torch.testing.assert_close(found.reshape(model.weights.shape), model.weights)
    assert found.dim() == 4
    with torch.no_grad(), watch(model, lambda _, one: one.weights.flip(-1)):
        torch.testing.assert_close(model(), found.reshape(model.weights.shape).flip(-1) @ value)


def laid(query, key, value, way):
    """The same attention with its axes elsewhere; weights come back as (batch, heads, query, key)."""
    match way:
        case "heads last":
            weights = torch.einsum("bhqw,bhkw->bqkh", query, key).softmax(2)
            return torch.einsum("bqkh,bhkw->bqhw", weights, value), weights.permute(0, 3, 1, 2)
        case "queries first":
            weights = torch.einsum("bhqw,bhkw->bqhk", query, key).softmax(-1)
            return torch.einsum("bqhk,bhkw->bqhw", weights, value), weights.transpose(1, 2)
        case "keys first":
            weights = (key @ query.mT).softmax(-2)
            return weights.mT @ value, weights.mT
        case "values turned":
            weights = (key @ query.mT).softmax(-2)
            return value.mT @ weights, weights.mT
        case "heads in the batch for the product":
            weights = (query @ key.mT).softmax(-1)
            return torch.bmm(weights.flatten(0, 1), value.flatten(0, 1)), weights
        case "a sink":
            sink = torch.zeros(*query.shape[:-1], 1)
            weights = torch.cat([query @ key.mT, sink], -1).softmax(-1)[..., :-1]
            return weights @ value, weights
        case "shared values":
            weights = (query @ key.mT).softmax(-1)
            return torch.einsum("bhqk,bkw->bhqw", weights, value[:, 0]), weights
        case "dots":
            weights = (query @ key.mT).softmax(-1)
            return torch.einsum("...qk,...kw->...qw", weights, value), weights
        case "names":
            weights = torch.special.softmax(query @ key.mT, -1)
            return torch.matmul(input=weights, other=value), weights
        case "read twice":
            weights = (query @ key.mT).softmax(-1)
            return weights @ value + weights @ (2 * value), weights
        case "place by place":
            weights = (query @ key.mT).softmax(-1)
            return (weights[..., None] * value[:, :, None]).sum(-2), weights
        case "added":
            weights = (query @ key.mT).softmax(-1).flatten(0, 1)
            nothing = torch.zeros(6, QUERIES, WIDTH)
            context = torch.baddbmm(nothing, weights, value.flatten(0, 1))
            return context, weights.unflatten(0, (BATCH, HEADS))


WAYS = ("heads last", "queries first", "keys first", "values turned", "a sink", "shared values")
WAYS += (
    "heads in the batch for the product",
    "dots",
    "names",
    "read twice",
    "place by place",
    "added",
)


@pytest.mark.parametrize("way", WAYS)
def test_axes_are_found_wherever_they_are(way):
    model = Says(lambda _: laid(*states(), way))
    (found,) = seen_in(model)
    torch.testing.assert_close(found, model.weights)
    with torch.no_grad(), watch(model, lambda _, one: one.weights):
        edited = model()
    torch.testing.assert_close(edited, model())


@pytest.mark.parametrize("dropped", ["behind", "in place"])
@torch.no_grad()
def test_dropout_in_training_is_left_out(dropped):
    query, key, value = states()

    def function(_):
        weights = (query @ key.mT).softmax(-1)
        return F.dropout(weights, 0.5, training=True, inplace=dropped == "in place") @ value, None

    with watch(model := Says(function)) as seen:
        model()
    torch.testing.assert_close(seen.weights("Says"), (query @ key.mT).softmax(-1))


def test_one_query_over_a_source_whose_time_comes_first():
    source, query = torch.randn(KEYS, BATCH, WIDTH), torch.randn(BATCH, WIDTH)

    def function(_):
        weights = (source * query).sum(-1).softmax(0)
        return (weights[..., None] * source).sum(0), weights

    model = Says(function)
    (found,) = seen_in(model)
    torch.testing.assert_close(found[:, 0, 0], model.weights.T)


def classes(_):
    return torch.randn(2, 4, 4, 5).softmax(-1), None


def expected_words(module):
    return torch.randn(2, 4, 6, HEADS).softmax(-1) @ module.mix.weight, None


def experts(_):
    given = torch.randn(2, 6, 8)
    gates = (given @ torch.ones(8, 4)).softmax(-1)
    return sum(gates[..., n : n + 1] * (given + n) for n in range(4)), None


def by_hand(_):
    query, key, value = states()
    shares = (query @ key.mT).exp()
    context = (shares / shares.sum(-1, keepdim=True)) @ value
    return context.softmax(-1), None


def slots(_):
    query, key, value = states()
    weights = (query @ key.mT).softmax(-2)  # each key chooses its query (Locatello 2020)
    return (weights / weights.sum(-1, keepdim=True)) @ value, None


def mapped(_):
    query, key, value = states()
    return torch.vmap(lambda q, k, v: (q @ k.mT).softmax(-1) @ v)(query, key, value), None


NONE = (classes, expected_words, experts, by_hand, slots, mapped)


@pytest.mark.parametrize("function", NONE, ids=lambda one: one.__name__)
@torch.no_grad()
def test_what_is_no_attention_or_cannot_be_followed_is_refused(function):
    torch.manual_seed(1)
    with (
        pytest.raises(UsageError, match="no attention was seen") as caught,
        watch(m := Says(function)),
    ):
        m()
    assert "softmax of torch" in caught.value.remedy


def test_heads_in_a_batch_of_several_stay_there():
    """Nobody says whether heads or the batch come first."""

    class Folded(nn.Module):
        num_heads = HEADS

        def forward(self, given):
            del given
            query, key, value = (one.flatten(0, 1) for one in states())
            self.weights = (query @ key.mT).softmax(-1)
            return self.weights @ value

    with watch(model := Folded()) as seen:
        model(torch.zeros(BATCH, QUERIES, HEADS * WIDTH))
    torch.testing.assert_close(seen.weights("Folded"), model.weights[:, None])


@torch.no_grad()
def test_a_hint_that_is_causal_replaces_the_mask_as_in_torch():
    torch.manual_seed(1)
    attention, given = nn.MultiheadAttention(12, 3, batch_first=True).train(), torch.randn(2, 5, 12)
    causal = nn.Transformer.generate_square_subsequent_mask(5)
    expected = attention(given, given, given, attn_mask=causal, average_attn_weights=False)[1]
    with watch(attention) as seen:
        attention(*(given,) * 3, attn_mask=torch.zeros(5, 5), is_causal=True, need_weights=False)
    torch.testing.assert_close(seen.weights("MultiheadAttention"), expected)


class Plain(nn.Module):
    def forward(self, query, key, value):
        return F.scaled_dot_product_attention(query, key, value)


@torch.no_grad()
def test_a_compiled_module_is_seen_as_it_is_written():
    model, given = torch.compile(Plain(), backend="eager"), states()
    expected = model(*given)
    with watch(model) as seen:
        torch.testing.assert_close(model(*given), expected)
    (path,) = seen
    torch.testing.assert_close(seen.weights(path), scaled(*given[:2]))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_torchscript_is_refused():
    with pytest.raises(UsageError, match="TorchScript"), watch(torch.jit.script(Plain())):
        pass
