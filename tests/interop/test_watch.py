"""Any model is watched: its weights are those that its own eager form gives, and watching changes nothing."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import regard
from regard.errors import UsageError
from regard.interop.recorder import watch
from tests.interop import kit

NAMES = sorted(kit.configurations())
GIVEN = ("attentions", "encoder_attentions", "decoder_attentions", "cross_attentions")


def eager(name):
    """The weights that the model itself gives, layer by layer: encoder, decoder, cross."""
    model, inputs, _ = kit.made(name, "eager")
    with torch.no_grad():
        output = model(**inputs, output_attentions=True)
    found = [layer for kind in GIVEN for layer in (getattr(output, kind, None) or ())]
    assert found
    return found


def matched(found, expected):
    """Each expected map is one of those found; rows that may see nothing are left out.

    By 1e-6 with AVX-512 and AVX2; without either, Marian's differ by 1.1e-6.
    """
    for weights in expected:
        same = [one for one in found if one.shape == weights.shape]
        blind = [one.sum(-1, keepdim=True) == 0 for one in same]
        pairs = zip(same, blind, strict=True)
        assert min(float((a - weights).masked_fill(b, 0).abs().max()) for a, b in pairs) < 2e-6
        assert any(float(one.float().mean()) < 0.3 for one in blind)


@pytest.mark.parametrize("implementation", [None, "eager"])
@pytest.mark.parametrize("name", NAMES)
@torch.no_grad()
def test_a_hugging_face_model_is_seen_as_it_is(name, implementation):
    model, inputs, count = kit.made(name, implementation)
    before, chosen = model(**inputs)[0], model.config._attn_implementation
    with regard.watch(model) as seen:
        during = model(**inputs)[0]
    assert torch.equal(before, during)
    assert model.config._attn_implementation == chosen
    assert torch.equal(model(**inputs)[0], before)
    assert len(seen) == count
    assert all(len(calls) == 1 for calls in seen.values())
    expected = eager(name)
    found = [seen.weights(path) for path in seen]
    if name == "gemma2":  # a padded query that sees padding alone goes on otherwise in eager form
        found, expected = ([one[:1] for one in some] for some in (found, expected))
    matched(found, expected)


@pytest.mark.parametrize("name", ["bert", "llama", "t5", "marian"])
@torch.no_grad()
def test_scores_are_the_sum_of_their_neurons(name):
    model, inputs, _ = kit.made(name)
    with watch(model) as seen:
        model(**inputs)
    for path in seen:
        (call,) = seen[path]
        assert call.query.shape[-1] > 0
        scores, bias = call.contributions.sum(-1), call.attention.bias
        scores = scores if bias is None else scores + bias.added
        visible = call.scores.isfinite()
        torch.testing.assert_close(scores[visible], call.scores[visible])


@pytest.mark.parametrize("name", ["bert", "llama", "t5", "mpnet", "gemma2", "vit"])
@torch.no_grad()
def test_edited_weights_are_used(name):
    model, inputs, _ = kit.made(name)
    plain = model(**inputs)[0]
    with watch(model, lambda _, found: found.weights):
        torch.testing.assert_close(model(**inputs)[0], plain, atol=1e-4, rtol=1e-4)
    with watch(model, lambda _, found: found.weights.flip(-1)) as seen:
        assert (model(**inputs)[0] - plain).abs().max() > 1e-3
    assert all(len(calls) == 1 for calls in seen.values())


def test_two_models_are_watched_at_once_and_one_not_twice():
    (bert, inputs, _), (gpt, more, _) = kit.made("bert"), kit.made("gpt2")
    with watch(bert) as first, watch(gpt) as second:
        bert(**inputs)
        gpt(**more)
        with pytest.raises(UsageError, match="watched already"), watch(bert):
            pass
    assert len(first) == len(second) == 2


def test_a_model_is_as_it_was_after_an_error():
    model, inputs, _ = kit.made("bert")
    with pytest.raises(KeyError, match="mine"), watch(model):
        raise KeyError("mine")
    assert model.config._attn_implementation == "sdpa"
    assert not any(m._forward_hooks or m._forward_pre_hooks for m in model.modules())
    with watch(model) as seen:
        model(**inputs)
    assert len(seen) == 2


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
@pytest.mark.parametrize("grad", [True, False])
def test_nn_transformer_is_seen_on_its_fast_path_too(grad):
    torch.manual_seed(1)
    model = nn.Transformer(16, 4, 2, 2, 32, batch_first=True).eval()
    source, target = torch.randn(2, 7, 16), torch.randn(2, 5, 16)
    padding = torch.arange(7) >= torch.tensor([[7], [4]])
    causal = nn.Transformer.generate_square_subsequent_mask(5)
    masks = {"src_key_padding_mask": padding, "memory_key_padding_mask": padding}
    with torch.set_grad_enabled(grad):
        before = model(source, target, tgt_mask=causal, **masks)
        with watch(model) as seen:
            during = model(source, target, tgt_mask=causal, **masks)
    torch.testing.assert_close(before, during, atol=1e-5, rtol=1e-5)
    shapes = {path: tuple(seen.weights(path).shape[2:]) for path in seen}
    assert shapes == {
        **{f"encoder.layers.{n}.self_attn": (7, 7) for n in range(2)},
        **{f"decoder.layers.{n}.self_attn": (5, 5) for n in range(2)},
        **{f"decoder.layers.{n}.multihead_attn": (5, 7) for n in range(2)},
    }
    for path, (queries, keys) in shapes.items():
        weights = seen.weights(path)
        torch.testing.assert_close(weights.sum(-1), torch.ones(2, 4, queries))
        assert keys == 5 or (weights[1, ..., 4:] == 0).all()
        assert path != "decoder.layers.0.self_attn" or (weights.triu(1) == 0).all()


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"batch_first": True},
        {"kdim": 6, "vdim": 9},
        {"add_bias_kv": True},
        {"add_zero_attn": True, "add_bias_kv": True, "bias": False},
    ],
    ids=str,
)
@torch.no_grad()
def test_multihead_attention_says_its_own_weights(options):
    torch.manual_seed(1)
    module = nn.MultiheadAttention(12, 3, **options).eval()
    sizes = (5, 12), (7, options.get("kdim", 12)), (7, options.get("vdim", 12))
    states = [torch.randn(2, *size) for size in sizes]
    if not options.get("batch_first"):
        states = [one.transpose(0, 1) for one in states]
    padding = torch.arange(7) >= torch.tensor([[7], [4]])
    for masks in (
        {},
        {"key_padding_mask": padding},
        {"attn_mask": torch.rand(5, 7) > 0.7},
        {"attn_mask": torch.randn(6, 5, 7), "key_padding_mask": padding.float() * -1e9},
        {"attn_mask": torch.rand(6, 5, 7) > 0.9, "key_padding_mask": padding},
    ):
        with watch(module) as seen:
            output, expected = module(*states, average_attn_weights=False, **masks)
        torch.testing.assert_close(seen.weights("MultiheadAttention"), expected)
        with watch(module, lambda _, found: found.weights):
            torch.testing.assert_close(module(*states, **masks)[0], output)


class Homemade(nn.Module):
    """Queries, keys and values of its own, and three ways to attend."""

    def __init__(self):
        super().__init__()
        self.both = nn.ModuleList([nn.Linear(8, 24), nn.Linear(8, 24)])

    def forward(self, states):
        query, key, value = (
            part.unflatten(-1, (2, 4)).transpose(1, 2) for part in self.both[0](states).chunk(3, -1)
        )
        read = F.scaled_dot_product_attention(query, key, value, is_causal=True, scale=0.3)
        read = read + F.scaled_dot_product_attention(
            query, key[:, :1], value[:, :1], enable_gqa=True
        )
        self.weights = torch.softmax(query @ key.mT / 2, -1)
        square = F.softmax(states @ states.mT, dim=-1)
        logits = F.softmax(states @ torch.ones(8, 11), -1)  # over a vocabulary: no attention
        return (self.weights @ value + read).transpose(1, 2).flatten(2) + square @ states, logits


class Tutorial(nn.Module):
    """Additive attention over a source as a tutorial writes it: softmax of two axes, then bmm or a sum."""

    def __init__(self, way):
        super().__init__()
        self.way, self.score, self.share = way, nn.Linear(8, 1), nn.Softmax(dim=1)

    def forward(self, states, query):
        energy = self.score(torch.tanh(states + query[:, None]))
        match self.way:
            case "bmm":
                weights = F.softmax(energy.squeeze(2), dim=1)
                context = F.dropout(weights, 0.1, self.training).unsqueeze(1).bmm(states)[:, 0]
            case "sum":
                weights = self.share(energy)
                context = (weights * states).sum(1)
                weights = weights[..., 0]
            case _:
                weights = self.share(energy.squeeze(2))
                context = torch.einsum("bs,bsw->bw", weights.to(torch.float64), states.double())
        self.weights = weights
        return context


@pytest.mark.parametrize("way", ["bmm", "sum", "einsum"])
@torch.no_grad()
def test_shares_that_multiply_values_are_attention(way):
    torch.manual_seed(2)
    model = Tutorial(way).eval()
    states, query = torch.randn(3, 5, 8), torch.randn(3, 8)
    expected = model(states, query)
    with watch(model) as seen:
        assert torch.equal(model(states, query), expected)
    assert list(seen) == ["Tutorial"]
    torch.testing.assert_close(seen.weights("Tutorial")[:, 0, 0], model.weights)


@torch.no_grad()
def test_the_chances_of_a_vocabulary_are_no_attention():
    class Expected(nn.Module):
        def __init__(self):
            super().__init__()
            self.table = nn.Embedding(11, 8)

        def forward(self, states):
            return F.softmax(states @ self.table.weight.T, -1) @ self.table.weight

    model = Expected()
    with pytest.raises(UsageError, match="no attention"), watch(model):
        model(torch.randn(2, 3, 8))


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
@pytest.mark.parametrize("layout", [torch.strided, torch.jagged], ids=str)
@torch.no_grad()
def test_rows_of_different_lengths_in_a_nested_tensor(layout):
    torch.manual_seed(1)
    module = nn.MultiheadAttention(8, 2, batch_first=True).eval()
    rows = [torch.randn(5, 8), torch.randn(3, 8)]
    nested = torch.nested.nested_tensor(rows, layout=layout)
    with watch(module) as seen:
        output, _ = module(nested, nested, nested, need_weights=False)
    weights = seen.weights("MultiheadAttention")
    for number, row in enumerate(rows):
        length = len(row)
        own, expected = module(row, row, row, average_attn_weights=False)
        torch.testing.assert_close(output.unbind()[number], own)
        torch.testing.assert_close(weights[number, :, :length, :length], expected)
        assert (weights[number, :, :, length:] == 0).all()


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
@torch.no_grad()
def test_an_encoder_that_takes_its_fast_path_with_nested_tensors():
    torch.manual_seed(1)
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    model = nn.TransformerEncoder(layer, 2, enable_nested_tensor=True).eval()
    states, padding = torch.randn(2, 5, 8), torch.arange(5) >= torch.tensor([[5], [3]])
    before = model(states, src_key_padding_mask=padding)
    with watch(model) as seen:
        during = model(states, src_key_padding_mask=padding)
    torch.testing.assert_close(during[~padding], before[~padding])
    assert list(seen) == ["layers.0.self_attn", "layers.1.self_attn"]
    nested = torch.nested.nested_tensor([states[0], states[1, :3]])
    expected = [row.clone() for row in model(nested).unbind()]
    with watch(model) as also:
        found = model(nested).unbind()
    for own, other in zip(found, expected, strict=True):
        torch.testing.assert_close(own, other)
    for path in seen:
        torch.testing.assert_close(also.weights(path)[0], seen.weights(path)[0])
        torch.testing.assert_close(also.weights(path)[1, :, :3], seen.weights(path)[1, :, :3])


@torch.no_grad()
@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
def test_nested_tensors_in_torchs_own_attention():
    class Own(nn.Module):
        def forward(self, states):
            heads = states.unflatten(-1, (2, 4)).transpose(1, 2)
            return F.scaled_dot_product_attention(heads, heads, heads)

    model, rows = Own(), [torch.randn(5, 8), torch.randn(3, 8)]
    nested = torch.nested.nested_tensor(rows, layout=torch.jagged)
    with watch(model) as seen:
        model(nested)
    with watch(model) as alone:
        model(rows[1][None])
    torch.testing.assert_close(seen.weights("Own")[1, :, :3, :3], alone.weights("Own")[0])
    assert (seen.weights("Own")[1, :, :, 3:] == 0).all()


@torch.no_grad()
def test_a_module_of_somebodys_own_is_seen():
    torch.manual_seed(1)
    model = nn.Sequential(Homemade())
    states = torch.randn(3, 5, 8)
    with watch(model) as seen:
        model(states)
    assert list(seen) == ["0", "0[1]", "0[2]", "0[3]"]
    query, key, _ = (
        part.unflatten(-1, (2, 4)).transpose(1, 2) for part in model[0].both[0](states).chunk(3, -1)
    )
    causal = (query @ key.mT * 0.3).masked_fill(torch.ones(5, 5).triu(1).bool(), -torch.inf)
    torch.testing.assert_close(seen.weights("0"), causal.softmax(-1))
    shared = (query @ key[:, :1].mT / 2).softmax(-1)
    torch.testing.assert_close(seen.weights("0[1]"), shared)
    torch.testing.assert_close(seen.weights("0[2]"), model[0].weights)
    assert seen.weights("0[3]").shape == (3, 1, 5, 5)


def test_ours_are_seen_once_also_inside_others():
    class Mixed(nn.Module):
        def __init__(self):
            super().__init__()
            self.ours, self.theirs = (
                regard.Heads(8, 2),
                nn.MultiheadAttention(8, 2, batch_first=True),
            )

        def forward(self, states):
            return self.theirs(self.ours(states), states, states)[0]

    model = Mixed()
    with watch(model) as seen:
        model(torch.randn(1, 3, 8))
    assert {path: len(calls) for path, calls in seen.items()} == {"ours.attention": 1, "theirs": 1}


def test_nothing_to_see_is_said():
    model = nn.Linear(3, 3)
    with (
        pytest.raises(UsageError, match="no attention was seen in this Linear") as caught,
        watch(model),
    ):
        model(torch.ones(3))
    for way in ("transformers", "scaled_dot_product_attention", "softmax"):
        assert way in caught.value.remedy
    with pytest.raises(UsageError, match="was not called"), watch(model):
        pass


@torch.no_grad()
def test_our_own_models_are_not_listened_to(monkeypatch):
    model = regard.Heads(8, 2)
    hooks = monkeypatch.setattr(nn.Module, "register_forward_hook", None)
    assert hooks is None
    with watch(model) as seen:
        model(torch.randn(1, 3, 8))
    assert list(seen) == ["attention"]
    with pytest.raises(UsageError, match="no attention was seen in this Heads"), watch(model):
        pass


@pytest.mark.parametrize("window", [None, 2])
def test_a_flash_kernel_has_a_mask_of_padding_alone(window):
    from regard.interop.huggingface import _found

    states = tuple(torch.randn(2, 2, length, 4) for length in (3, 5, 5))
    padding = torch.tensor([[1, 1, 1, 1, 1], [0, 1, 1, 1, 1]])
    module = nn.Module()
    module.is_causal = True
    seen = _found("flash_attention_2", module, states, padding, {"sliding_window": window})
    place, keys = torch.arange(3)[:, None] + 2, torch.arange(5)
    near = (keys <= place) & (True if window is None else place - keys < window)
    allowed = near & padding[:, None, None].bool()
    torch.testing.assert_close(seen.allowed, allowed.expand(2, 2, 3, 5))
