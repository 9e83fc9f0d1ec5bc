import pytest
import torch

from regard.attention import (
    Attention,
    Causal,
    Heads,
    Learned,
    Padding,
    Rotary,
    ScaledDot,
    Sinusoidal,
    Softmax,
)
from regard.attention.heads import head_width

BATCH, QUERIES, KEYS, WIDTH, SOURCE_WIDTH, HEADS = 2, 5, 7, 11, 13, 3


def make(width=WIDTH, num_heads=HEADS, **options):
    return Heads(width, num_heads, Attention(ScaledDot(), Softmax()), **options)


def count(module):
    return sum(parameter.numel() for parameter in module.parameters())


def test_widths_of_queries_keys_values_and_source_are_free():
    heads = make(key_width=4, value_width=17, source_width=SOURCE_WIDTH)
    query, source = torch.randn(BATCH, QUERIES, WIDTH), torch.randn(BATCH, KEYS, SOURCE_WIDTH)
    memory = heads.remember(source, Padding(torch.tensor([7, 3])))
    assert memory.key.shape == (BATCH, HEADS, KEYS, 4)
    assert memory.value.shape == (BATCH, HEADS, KEYS, 17)
    assert heads(query, memory).shape == (BATCH, QUERIES, WIDTH)


def test_the_parameters_of_the_lecture():
    """(3 x 512 x 64) x 8 + 512 x 512 = 4 x 512 x 512 (L55), and four biases of 512."""
    assert count(make(512, 8, bias=False)) == 786_432 + 262_144 == 1_048_576
    assert count(make(512, 8)) == 1_050_624


def test_heads_are_concatenated_attentions():
    """MultiHead = Concat(head_1 .. head_h) W^O, head_i = Attention(Q W_i^Q, K W_i^K, V W_i^V) (L52)."""
    heads = make(key_width=2, value_width=5, bias=False)
    states = torch.randn(BATCH, QUERIES, WIDTH)
    contexts = []
    for head in range(HEADS):
        query, key = (
            states @ projection.weight[2 * head : 2 * head + 2].T
            for projection in (heads.query, heads.key)
        )
        value = states @ heads.value.weight[5 * head : 5 * head + 5].T
        contexts.append((query @ key.mT / 2**0.5).softmax(-1) @ value)
    expected = torch.cat(contexts, -1) @ heads.output.weight.T
    torch.testing.assert_close(heads(states, heads.remember(states)), expected)


def test_a_gate_multiplies_its_head():
    """The output is linear in each gate."""
    heads, states = make(key_width=2, bias=False), torch.randn(BATCH, QUERIES, WIDTH)
    memory, outputs = heads.remember(states), []
    for gates in ([1.0, 0, 0], [0, 1.0, 0], [0, 0, 1.0], [2.0, -1.0, 0.5]):
        heads.gate = torch.tensor(gates)
        outputs.append(heads(states, memory))
    one, two, three, mixed = outputs
    torch.testing.assert_close(mixed, 2 * one - two + 0.5 * three)
    heads.gate = torch.ones(3)
    torch.testing.assert_close(heads(states, memory), one + two + three)


def test_gates_are_always_saved():
    heads, other = make(key_width=2), make(key_width=2)
    assert heads.state_dict()["gate"].tolist() == [1, 1, 1]
    heads.gate = torch.tensor([1.0, 0.5, 0.0])
    other.load_state_dict(heads.state_dict())
    assert other.gate.tolist() == [1, 0.5, 0]


def test_weights_without_gates_are_those_of_open_heads():
    heads = make(key_width=2)
    state = {name: value for name, value in heads.state_dict().items() if name != "gate"}
    heads.gate = torch.zeros(3)
    heads.load_state_dict(state)
    assert heads.gate.tolist() == [1, 1, 1]


def test_gates_may_stand_in_the_output_map():
    heads, states = make(key_width=2, value_width=5), torch.randn(BATCH, QUERIES, WIDTH)
    heads.gate = torch.tensor([0.5, -2.0, 0.0])
    context = heads.context_within(states).transpose(1, 2).flatten(2)
    found = context @ heads.gated_output().T + heads.output.bias
    torch.testing.assert_close(found, heads(states))


def test_positions_are_added_to_queries_keys_and_values():
    """q_i = q'_i + p_i, and k and v alike (L47)."""
    heads = make(key_width=4, position=Sinusoidal(4))
    states, table = torch.randn(BATCH, QUERIES, WIDTH), Sinusoidal(4).table(QUERIES)
    plain = make(key_width=4)
    plain.load_state_dict(heads.state_dict(), strict=False)
    with_places, without = heads.remember(states), plain.remember(states)
    torch.testing.assert_close(with_places.key, without.key + table)
    torch.testing.assert_close(with_places.value, without.value + table)
    asked = plain.query(states).unflatten(-1, (HEADS, 4)).transpose(1, 2) + table
    expected = plain.output(heads.attention(asked, with_places).transpose(1, 2).flatten(2))
    torch.testing.assert_close(heads(states, with_places), expected)


def test_rotation_turns_keys_and_leaves_values():
    heads = make(key_width=4, position=Rotary(4))
    states = torch.randn(BATCH, QUERIES, WIDTH)
    plain = make(key_width=4)
    plain.load_state_dict(heads.state_dict(), strict=False)
    turned, still = heads.remember(states), plain.remember(states)
    torch.testing.assert_close(turned.key, Rotary(4)(still.key))
    assert torch.equal(turned.value, still.value)


def test_keep_slices_the_projections():
    heads = make(key_width=2, value_width=5)
    heads.gate = torch.tensor([0.1, 0.2, 0.3])
    weight = heads.output.weight.detach().clone()
    heads.keep([2, 0])
    assert heads.num_heads == 2
    assert heads.query.weight.shape == heads.key.weight.shape == (4, WIDTH)
    assert heads.value.weight.shape == (10, WIDTH)
    assert (heads.query.out_features, heads.output.in_features) == (4, 10)
    assert torch.equal(heads.output.weight, torch.cat([weight[:, 10:], weight[:, :5]], 1))
    assert heads.gate.tolist() == pytest.approx([0.3, 0.1])


@pytest.mark.parametrize("kept", [[0, 3], [-1], [1, 1]])
def test_keep_refuses_heads_it_has_not(kept, refuses):
    what = f"heads to keep are distinct numbers in 0..2, not {kept}"
    with refuses(what, "Heads.keep", "name each head to keep once: keep([0, 2])"):
        make(key_width=2).keep(kept)


def test_a_width_that_does_not_divide_is_refused(refuses):
    assert head_width(12, 3) == 4
    with refuses(
        "width 12 does not divide into 5 heads",
        "num_heads",
        "choose one of [1, 2, 3, 4, 6, 12], or give key_width yourself",
    ):
        make(12, 5)
    with refuses(
        "width 6 does not divide into 0 heads",
        "num_heads",
        "choose one of [1, 2, 3, 6], or give key_width yourself",
    ):
        head_width(6, 0)


def test_positions_of_another_width_are_refused(refuses):
    remedy = "rotation needs the key width; vectors are added to q, k and v, so all must agree"
    for position in (Rotary(6), Sinusoidal(6), Learned(6, 9)):
        with refuses(
            "positions of width 6 cannot serve heads of key width 4 and value width 4",
            "position",
            remedy,
        ):
            make(key_width=4, position=position)
    with refuses(
        "positions of width 4 cannot serve heads of key width 4 and value width 5",
        "position",
        remedy,
    ):
        make(key_width=4, value_width=5, position=Sinusoidal(4))
    make(key_width=4, value_width=5, position=Rotary(4))


def test_a_step_past_learned_positions_is_refused(refuses):
    heads = make(key_width=4, position=Learned(4, 3))
    states = torch.randn(BATCH, 1, WIDTH)
    memory = heads.room(states, BATCH, capacity=9, mask=Causal())
    for _ in range(3):
        memory = heads.append(memory, states)
    with refuses(
        "learned positions end at 3, and 4 were asked for",
        "Learned.max_length",
        "shorten the input, raise max_length before training, or use sinusoidal",
    ):
        heads.append(memory, states)


def test_gradients_reach_every_weight():
    heads = make(key_width=2, value_width=3).double()
    states = torch.randn(BATCH, QUERIES, WIDTH, dtype=torch.float64)
    heads(states, heads.remember(states, Causal())).square().sum().backward()
    for name, parameter in heads.named_parameters():
        assert parameter.grad.isfinite().all(), name
        # The softmax is blind to a shift of all its scores, which is all that a key's bias does.
        assert (parameter.grad.abs().max() > 1e-9) == (name != "key.bias"), name
