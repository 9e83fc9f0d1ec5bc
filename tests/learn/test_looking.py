"""Maps of attention over pictures are checked: the toys know where they drew each thing (L83, L99)."""

from collections.abc import Iterator
from itertools import pairwise
from random import Random

import numpy as np
import pytest

from regard.data import png
from regard.data.toys.drawings import COLOURS, SHAPES, painted, said, scene, strip
from regard.tasks.axis import Grid
from regard.traces.trace import Trace, look_inside
from tests.learn.kit import learned

pytestmark = pytest.mark.slow
ASKED = 100


def seen(run, model, picture) -> Trace:
    return look_inside(run.task, model, png.url(picture), run.settings.decode)


def mapped(trace: Trace, words: bool = True) -> tuple[tuple[str, ...], np.ndarray]:
    """The words or pieces of an answer, and their weights as a picture has them: (word, row, column)."""
    site = trace.site()
    grid = trace.axes[site.keys]
    assert isinstance(grid, Grid)
    weights = (trace.by_words(site) if words else site.weights).mean(0)
    maps = weights.reshape(len(weights), grid.columns, grid.rows).swapaxes(1, 2)
    queries = trace.axes[site.queries]
    return queries.words if words else queries.pieces, maps


def cells(mask: np.ndarray, rows: int, columns: int, side: int) -> np.ndarray:
    """The cells that any of these pixels lies in."""
    room = np.zeros((rows * side, columns * side), bool)
    room[: mask.shape[0], : mask.shape[1]] = mask
    return room.reshape(rows, side, columns, side).any((1, 3))


def highest(weights: np.ndarray) -> tuple[int, ...]:
    return tuple(map(int, np.unravel_index(weights.argmax(), weights.shape)))


def shapes_hit(run, model, count: int = ASKED) -> dict[str, float]:
    """Of the words that name a shape's colour or form, how many have their largest weight in its cells."""
    hit, right, differing, areas = [], [], [], []
    for number in range(count):
        things = scene(Random(f"looked at {number}"))
        trace = seen(run, model, painted(things))
        right.append(trace.answer.text == said(*things))
        found = list(named_cells(trace, things))
        places = [place for _, place, _ in found]
        hit += [target[place] for _, place, target in found]
        areas += [target.mean() for _, _, target in found]
        differing.append(len(places) == 4 and set(places[:2]).isdisjoint(places[2:]))
    shares = {"right": right, "hit": hit, "differ": differing, "by chance": areas}
    return {name: 100 * float(np.mean(one)) for name, one in shares.items()}


def named_cells(trace: Trace, things) -> Iterator[tuple[str, tuple[int, ...], np.ndarray]]:
    """Each word for a colour or a form, the cell with its largest weight, and the cells of its shape."""
    count = 0
    for word, weights in zip(*mapped(trace), strict=True):
        if word in COLOURS or word in SHAPES:
            own = things[count // 2 % 2]
            yield word, highest(weights), cells(own.mask(), *weights.shape, 8)
            count += 1


def digits_hit(run, model, count: int = ASKED) -> dict[str, float]:
    """How many digits have their largest weight in their own columns, and how many strips are read from left
    to right without one step back."""
    hit, right, moved, areas = [], [], [], []
    for number in range(count):
        generator = Random(f"looked at {number}")
        digits = "".join(generator.choice("0123456789") for _ in range(generator.randint(3, 6)))
        picture, taken = strip(digits, generator)
        trace = seen(run, model, picture)
        right.append(trace.answer.text == digits)
        _, maps = mapped(trace, words=False)
        columns = [highest(weights)[1] for weights in maps[: len(digits)]]
        moved.append(all(a < b for a, b in pairwise(columns)))
        for column, own in zip(columns, taken, strict=False):
            hit.append(own.start // 8 <= column <= (own.stop - 1) // 8)
            areas.append(len(range(own.start // 8, (own.stop - 1) // 8 + 1)) / maps.shape[2])
    shares = {"right": right, "hit": hit, "left to right": moved, "by chance": areas}
    return {name: 100 * float(np.mean(one)) for name, one in shares.items()}


def test_a_word_looks_at_the_shape_it_names():
    """Of 400 words 95.5% in the log, where 16% would be chance; and the two shapes have different cells."""
    found = shapes_hit(*learned("captioner"))
    assert found["right"] >= 95
    assert found["hit"] >= 90
    assert found["differ"] >= 95


def test_digits_are_read_from_left_to_right():
    """Of 434 digits 97.7% in the log, where 22% would be chance; 92 of 100 strips without one step back."""
    found = digits_hit(*learned("xu2015-soft"))
    assert found["right"] >= 90
    assert found["hit"] >= 90
    assert found["left to right"] >= 85
