"""States are trees of tensors that `select` reorders; output layers may be tied."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from regard.attention import Memory, Padding
from regard.models import select
from regard.models.decoder import output_layer

ROWS = torch.tensor([2, 0, 0])


@dataclass(frozen=True)
class Tree:
    leaf: Tensor
    branches: tuple[tuple[Tensor, ...], ...]
    memory: Memory | None
    count: int


def test_select_reorders_every_tensor_and_leaves_the_rest():
    leaf, deep = torch.randn(3, 5), torch.randn(3, 2, 7)
    key, value = torch.randn(3, 2, 5, 7), torch.randn(3, 2, 5, 11)
    memory = Memory(key, value, Padding(torch.tensor([5, 3, 1])))

    chosen = select(Tree(leaf, ((deep,), ()), memory, 13), ROWS)

    assert torch.equal(chosen.leaf, leaf[ROWS])
    assert torch.equal(chosen.branches[0][0], deep[ROWS])
    assert chosen.branches[1] == ()
    assert torch.equal(chosen.memory.key, key[ROWS])
    assert torch.equal(chosen.memory.value, value[ROWS])
    assert chosen.memory.mask.lengths.tolist() == [1, 5, 5]
    assert chosen.count == 13
    assert select(Tree(leaf, (), None, 1), ROWS).memory is None


def test_selecting_in_order_twice_is_selecting_once():
    leaf = torch.randn(3, 5)

    assert torch.equal(select(select(leaf, ROWS), torch.tensor([1, 0])), leaf[[0, 2]])


def test_a_tied_output_is_the_embedding_itself():
    table = nn.Embedding(5, 3)
    layer = output_layer(3, 5, table, bias=False)
    states = torch.randn(2, 3)

    assert layer.weight is table.weight
    assert torch.equal(layer(states), states @ table.weight.mT)
    assert output_layer(3, 5, table, bias=True).bias.tolist() == [0.0] * 5
    assert output_layer(3, 5, None, bias=False).weight is not table.weight
