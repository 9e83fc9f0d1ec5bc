"""Positions by hand: blind without them, the table of sinusoids, and how long each wave takes (L42-L51)."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from regard.attention import Attention, Heads, Learned, ScaledDot, Sinusoidal, Softmax, sinusoid
from regard.attention.position import period
from regard.errors import UsageError, nearest
from regard.worked.worked_example import (
    Number,
    Numbers,
    Slip,
    Step,
    Worked,
    matrix,
    numbered,
    plain,
    positive,
    seeded,
)


def word_order(
    words: Sequence[str] = ("the", "cat", "chased", "the", "mouse"),
    order: Sequence[int] = (3, 4, 2, 0, 1),
    width: int = 4,
    seed: int = 1,
) -> Worked:
    """One sentence in two orders: the outputs move with the words, unless positions are added.

    Weights and word vectors are drawn, not learned: this holds whatever they are.
    """
    positive(words=len(words), width=width)
    if sorted(order) != list(range(len(words))):
        raise UsageError(
            f"order must name each of the {len(words)} words once, from 0; it is {list(order)}",
            where="order",
            remedy=f"for the order as it stands: {list(range(len(words)))}",
        )
    with seeded(seed):
        heads = Heads(width, 1, Attention(ScaledDot(), Softmax()), bias=False).double()
        drawn = {word: torch.randn(width, dtype=torch.float64) for word in dict.fromkeys(words)}
    position = Sinusoidal(width).double()
    chosen, moved = torch.tensor(order), tuple(words[n] for n in order)
    states = torch.stack([drawn[word] for word in words])
    read, placed = _read(heads, states), _read(heads, position(states))
    read_moved = _read(heads, states[chosen])
    placed_moved = _read(heads, position(states[chosen]))
    return Worked(
        formula="f(P X) = P f(X) for every permutation P, where f is self-attention",
        given=(
            Step("words", "X", plain(states), rows=tuple(words)),
            Step("order", "P X: the same words in another order", moved),
        ),
        steps=(
            Step("as written", "f(X)", plain(read), rows=tuple(words)),
            Step("reordered", "f(P X)", plain(read_moved), rows=moved),
            Step("difference", "max |f(P X) - P f(X)|", _gap(read_moved, read[chosen])),
            Step("with positions, as written", "f(X + p)", plain(placed), rows=tuple(words)),
            Step("with positions, reordered", "f(P X + p)", plain(placed_moved), rows=moved),
        ),
        result=Step(
            "difference with positions",
            "max |f(P X + p) - P f(X + p)|",
            _gap(placed_moved, placed[chosen]),
            note="Only with positions does it matter who chased whom.",
        ),
    )


def position_places(
    words: Sequence[Numbers] = ((1.0, 0.0), (0.0, 1.0), (1.0, 1.0)),
    query: Sequence[Numbers] = ((2.0, 0.0), (0.0, 1.0)),
    key: Sequence[Numbers] = ((1.0, 0.0), (1.0, 1.0)),
) -> Worked:
    """Where a position is added: to the word before W (L48), or to its query and its key after W (L47).

    Adding it to the word is the same as adding W e_i to what W makes of the word, so a model that learns W
    can learn either.
    """
    states = matrix("words", words)
    width = states.shape[1]
    tables = {
        "query": matrix("query", query, width, width),
        "key": matrix("key", key, width, width),
    }
    places = Sinusoidal(width).double().table(len(states))
    asks, offers = tables["query"], tables["key"]
    before = _weights((states + places) @ asks, (states + places) @ offers)
    behind = _weights(states @ asks + places, states @ offers + places)
    again = _weights(states @ asks + places @ asks, states @ offers + places @ offers)
    labels = numbered("word ", len(states))
    return Worked(
        formula="L48: q_i = (x_i + e_i) W^q;  L47: q_i = x_i W^q + p_i, and the same for k and v",
        given=(
            Step("words", "x_i", plain(states), rows=labels),
            Step("positions", "e_i: sine and cosine of the place", plain(places), rows=labels),
            Step("query", "W^q", plain(asks)),
            Step("key", "W^k", plain(offers)),
        ),
        steps=(
            Step("without positions", "softmax(q_i . k_j / sqrt(d))",
                 plain(_weights(states @ asks, states @ offers)), rows=labels, columns=labels),
            Step("added to the input", "q_i = (x_i + e_i) W^q", plain(before), rows=labels, columns=labels),
            Step("added in the heads", "q_i = x_i W^q + e_i", plain(behind), rows=labels, columns=labels,
                 note="The setting position_at = heads; values get their positions, too."),
            Step("in the heads, as W makes them", "q_i = x_i W^q + e_i W^q", plain(again),
                 rows=labels, columns=labels),
        ),
        result=Step(
            "difference",
            "between the second table and the fourth",
            _gap(before, again),
            note="(x + e) W = x W + e W: at the input W learns how much of the place counts.",
        ),
    )  # fmt: skip


def _weights(
    queries: Float[Tensor, "words width"], keys: Float[Tensor, "words width"]
) -> Float[Tensor, "words words"]:
    attention = Attention(ScaledDot(), Softmax())
    memory = attention.remember(keys[None, None], keys[None, None])
    return attention.align(queries[None, None], memory).weights[0, 0]


@torch.no_grad()
def _read(heads: Heads, states: Float[Tensor, "words width"]) -> Float[Tensor, "words width"]:
    return heads(states[None], heads.remember(states[None]))[0]


def _gap(one: Tensor, other: Tensor) -> float:
    return float((one - other).abs().max())


# The table of sinusoidal positions, cell by cell (L42-L46).

TABLE_SLIPS = (
    Slip(
        "L45",
        "one step on",
        "exponents 2*1/d, .., 2*(d/2)/d",
        "exponents 0, 2/d, .., (d-2)/d",
        "Counted from 1 the fastest wave is lost: with d = 4 and n = 100 the frequencies are 1/10 and 1/100 "
        "instead of 1 and 1/10. The same lecture then says 0 <= i < d/2, which is right.",
    ),
    Slip(
        "L46",
        "learned",
        "E_pos of shape 1 x N",
        "E_pos of shape N x d",
        "A learned position is a vector like a word's, and there are N of them.",
    ),
)


def wave(position: Number, dimension: int, width: int, base: float) -> float:
    """One cell at any position, whole or not: a sine at an even dimension, a cosine at an odd one."""
    try:
        angle = 2 * math.pi * position / period(dimension // 2, width, base)
    except ArithmeticError:
        angle = math.inf
    if not math.isfinite(angle):
        what = f"waves of base {base} are shorter or longer than numbers can say"
        raise UsageError(what, "base", "take one between 1 and 1,000,000")
    return math.cos(angle) if dimension % 2 else math.sin(angle)


def position_table(
    words: Sequence[str] = ("I", "am", "a", "robot"), width: int = 4, base: Number = 100.0
) -> Worked:
    """One row a word, in both layouts, and the table as one slide counts it."""
    positive(words=len(words), width=width, base=base)
    count, labels, base = len(words), tuple(words), float(base)
    pairs = (width + 1) // 2
    columns = tuple(f"{'cos' if n % 2 else 'sin'} i={n // 2}" for n in range(width))
    halves = tuple(sorted(columns, key=lambda name: not name.startswith("sin")))
    periods = tuple(period(i, width, base) for i in range(pairs))
    return Worked(
        formula="PE(pos, 2i)   = sin(pos / n^(2i/d))\nPE(pos, 2i+1) = cos(pos / n^(2i/d))",
        given=(
            Step("words", "pos = 0, 1, ..", labels),
            Step("width", "d", width),
            Step("base", "n", base, note="10,000 in most models."),
        ),
        steps=(
            Step(
                "frequencies",
                "1 / n^(2i/d)",
                tuple(2 * math.pi / one for one in periods),
                columns=numbered("i = ", pairs, 0),
            ),
            Step("periods", "2 pi n^(2i/d)", periods, columns=numbered("i = ", pairs, 0)),
            Step(
                "halves",
                "sines left, cosines right (L44)",
                plain(sinusoid(count, width, base=base, layout="halves")),
                labels,
                halves,
                note="The same columns in another order: a model cannot tell the difference.",
            ),
            Step(
                "one step on",
                "exponents counted from 1",
                tuple(
                    tuple(wave(position, n + 2, width, base) for n in range(width))
                    for position in range(count)
                ),
                labels,
                columns,
            ),
            Step(
                "learned", "the shape of E_pos: one vector a position (L46)", _learned(count, width)
            ),
        ),
        result=Step(
            "interleaved",
            "sine, cosine, sine, cosine (L42)",
            plain(sinusoid(count, width, base=base)),
            labels,
            columns,
        ),
        slips=TABLE_SLIPS,
    )


def _learned(count: int, width: int) -> tuple[int, ...]:
    with seeded(0):
        return tuple(Learned(width, count).weight.shape)


# Where sines stand, where cosines, and both in short.
LAYOUTS = {
    "halves": ("left half", "right half", "sines left, cosines right"),
    "interleaved": ("even columns", "odd columns", "a sine and its cosine in turn"),
}


def position_picture(
    positions: int = 20, width: int = 512, base: Number = 10000.0, layout: str = "halves"
) -> Worked:
    """The slide's picture: 20 positions of 512 numbers, the sines left and the cosines right."""
    positive(positions=positions, width=width, base=base)
    if layout not in LAYOUTS:
        raise UsageError(f"no layout '{layout}'", "layout", nearest(layout, LAYOUTS))
    base = float(base)
    table = sinusoid(positions, width, base=base, layout=layout).double()  # type: ignore[arg-type]
    names = tuple(map(str, range(positions)))
    sines, cosines, both = LAYOUTS[layout]
    return Worked(
        formula=f"{sines}: sin(pos / n^(2i/d)); {cosines}: cos(pos / n^(2i/d)); i = 0 .. d/2 - 1",
        given=(
            Step("positions", "N", positions),
            Step("width", "d", width),
            Step("base", "n", base),
            Step("layout", "halves, or interleaved as in the paper", layout),
        ),
        steps=(
            Step(
                "distance",
                "|p_pos - p_0|: neighbours are alike",
                plain((table - table[0]).norm(dim=-1)),
                columns=names,
            ),
        ),
        result=Step("table", f"p_pos, one row a position: {both}", plain(table), names),
    )


# How long each wave of a position takes to repeat (L49, L50).

# The slide's picture stands at no whole position; these give its sixteen numbers within 0.0005.
POSITIONS = (1.384, 8.994, 5.535, 2.076)

PERIOD_SLIPS = (
    Slip(
        "L49",
        "period",
        62832,
        43469,
        "The slide takes 10000^(48/50) for 10000 and arrives at 20,000 pi. It is 6918.3, and 2 pi times that "
        "is 43,469.",
    ),
    Slip(
        "L50",
        "rows",
        "i = 3, 4, 5, 6",
        "dimensions 2, 3, 4, 5",
        "The labels begin beside the heading, one row too high, so that each row of numbers carries the "
        "label of the next.",
    ),
)


def position_periods(
    width: int = 50,
    base: Number = 10000.0,
    index: int = 48,
    widths: Sequence[int] = (50, 100, 200, 512),
    positions: Numbers = POSITIONS,
) -> Worked:
    """Periods grow along a vector; the first never changes, the others grow as vectors get narrower."""
    positive(width=width, base=base, widths=min(widths, default=0))
    if not 0 <= index < width:
        raise UsageError(
            f"index must be in 0..{width - 1}; it is {index}",
            where="index",
            remedy=f"take 0 for the first number of a vector, {width - 1} for the last",
        )
    base = float(base)
    pairs = (0, 1, 2, 3)
    dimensions = (2, 3, 4, 5)
    exponent = 2 * (index // 2) / width
    return Worked(
        formula="period of pair i = 2 pi n^(2i/d);  index 2i is its sine, 2i+1 its cosine",
        given=(
            Step("width", "d", width),
            Step("base", "n", base),
            Step("index", "2i", index),
            Step("positions", "pos, read off the slide's table", tuple(map(float, positions))),
        ),
        steps=(
            Step(
                "by width",
                "the first pair is constant, the others grow as d falls",
                tuple(tuple(period(i, d, base) for i in pairs) for d in widths),
                tuple(f"d = {one}" for one in widths),
                numbered("i = ", len(pairs), 0),
            ),
            Step(
                "rows",
                "PE(pos, dimension)",
                tuple(tuple(wave(at, n, width, base) for at in positions) for n in dimensions),
                tuple(f"dimension {n}" for n in dimensions),
                numbered("p_", len(positions), 0),
            ),
            Step("power", f"n^({2 * (index // 2)}/{width})", base**exponent),
        ),
        result=Step("period", "2 pi n^(2i/d)", period(index // 2, width, base)),
        slips=PERIOD_SLIPS,
    )
