from dataclasses import replace

import pytest
import torch

from regard.attention import Attention, Causal, Memory, Padding, ScaledDot, Softmax
from regard.attention.memory import without_void

BATCH, HEADS, CAPACITY, KEY_WIDTH, VALUE_WIDTH = 3, 2, 7, 5, 11


def room(mask=None):
    return Memory.room(
        torch.empty(0),
        batch=BATCH,
        heads=HEADS,
        capacity=CAPACITY,
        widths=(KEY_WIDTH, VALUE_WIDTH),
        mask=mask,
    )


def pieces(length):
    return (
        torch.randn(BATCH, HEADS, length, KEY_WIDTH),
        torch.randn(BATCH, HEADS, length, VALUE_WIDTH),
    )


def test_room_is_empty_and_of_the_asked_type():
    like = torch.empty(0, dtype=torch.bfloat16)
    memory = Memory.room(like, batch=3, heads=2, capacity=7, widths=(5, 11))
    assert memory.key.shape == (3, 2, 7, 5)
    assert memory.value.shape == (3, 2, 7, 11)
    assert memory.key.dtype == memory.value.dtype == torch.bfloat16
    assert (memory.filled, memory.first, memory.capacity) == (0, 0, 7)
    assert memory.seen().key.shape == (3, 2, 0, 5)


def test_append_writes_behind_what_is_there():
    (key, value), (later_key, later_value) = pieces(3), pieces(2)
    memory = room().append(key, value)
    assert (memory.first, memory.filled) == (0, 3)
    longer = memory.append(later_key, later_value)
    assert (longer.first, longer.filled) == (3, 5)
    seen = longer.seen()
    assert torch.equal(seen.key, torch.cat([key, later_key], 2))
    assert torch.equal(seen.value, torch.cat([value, later_value], 2))
    assert (seen.first, seen.filled) == (3, None)


def test_append_keeps_its_tensors():
    memory = room()
    longer = memory.append(*pieces(3))
    assert longer.key.data_ptr() == memory.key.data_ptr()
    assert longer.key.shape == memory.key.shape


def test_a_full_memory_is_seen_whole():
    memory = room().append(*pieces(CAPACITY))
    assert memory.seen().key is memory.key
    assert memory.seen().filled is None
    assert memory.seen().seen().key is memory.key


@pytest.mark.parametrize("filled", [6, 7])
def test_append_past_the_capacity_is_refused(refuses, filled):
    memory = room().append(*pieces(filled))
    with refuses(
        f"this memory has room for 7 positions, and {filled + 2} were asked for",
        "Memory.capacity",
        "make room for more, as in Memory.room(capacity=...)",
    ):
        memory.append(*pieces(2))


def test_a_memory_that_is_no_cache_takes_no_more(refuses):
    memory = Memory(*pieces(4))
    with refuses(
        "this memory has room for 4 positions, and 5 were asked for",
        "Memory.capacity",
        "make room for more, as in Memory.room(capacity=...)",
    ):
        memory.append(*pieces(1))


@pytest.mark.parametrize("rows", [[2, 0, 1], [1, 1], [0, 2, 2, 0, 1]])
def test_select_permutes(rows):
    mask = Padding(torch.tensor([4, 1, 3])) & Causal()
    memory, chosen = room(mask).append(*pieces(4)), torch.tensor(rows)
    selected = memory.select(chosen)
    assert torch.equal(selected.seen().key, memory.seen().key[chosen])
    assert torch.equal(selected.seen().value, memory.seen().value[chosen])
    assert selected.capacity == memory.capacity
    assert torch.equal(selected.seen().allowed(4), memory.seen().allowed(4)[chosen])
    assert (selected.first, selected.filled) == (memory.first, memory.filled)
    whole = memory.seen().select(chosen)
    assert torch.equal(whole.key, memory.seen().key[chosen])


def test_select_copies_so_that_beams_part_ways():
    memory = room().append(*pieces(2))
    one, other = (memory.select(torch.arange(BATCH)) for _ in range(2))
    first, second = pieces(1), pieces(1)
    one, other = one.append(*first), other.append(*second)
    assert torch.equal(one.key[:, :, 2:3], first[0])
    assert torch.equal(other.key[:, :, 2:3], second[0])
    assert (memory.key[:, :, 2] == 0).all()


def test_allowed_follows_the_queries():
    key, value = pieces(5)
    assert Memory(key, value).allowed(5) is None
    assert torch.equal(
        Memory(key, value, Causal()).allowed(5)[0, 0], torch.ones(5, 5).tril().bool()
    )
    assert Memory(key, value, Causal(), first=4).allowed(1) is None
    assert Memory(key, value, Causal(), first=3).allowed(1).flatten().tolist() == [True] * 4 + [
        False
    ]


def test_void_is_zeroed_wherever_it_is_written():
    mask = Padding(torch.tensor([5, 2, 0]))
    states = torch.full((BATCH, HEADS, 5, 2), torch.nan)
    cleaned = without_void(states, mask)
    assert cleaned.isnan().sum((1, 2, 3)).tolist() == [5 * HEADS * 2, 2 * HEADS * 2, 0]
    assert torch.equal(
        without_void(states[:, :, 1:], mask, first=1).isnan(), cleaned[:, :, 1:].isnan()
    )
    assert without_void(states, Causal()) is states
    assert without_void(states, None) is states


def test_what_is_not_filled_is_never_read():
    """Rows that were chosen have anything at all behind their last position."""
    attention = Attention(ScaledDot(), Softmax())
    states = torch.randn(3, 2, 7, 5)
    whole = attention.remember(states[:, :, :4], states[:, :, :4], Causal())
    expected = attention(states[:, :, 3:4], replace(whole, first=3))
    room = Memory.room(states, batch=3, heads=2, capacity=11, widths=(5, 5), mask=Causal())
    for start in range(4):
        one = states[:, :, start : start + 1]
        room = room.append(one, one).select(torch.tensor([2, 0, 1])).select(torch.tensor([1, 2, 0]))
        room.key[:, :, start + 1 :] = torch.nan
        room.value[:, :, start + 1 :] = torch.nan
    torch.testing.assert_close(attention(states[:, :, 3:4], room), expected)
