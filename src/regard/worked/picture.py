"""Attention over a picture by hand: squares, what is in each, and a map for each word (Xu 2015; L83).

Two words look for two things. Each finds the square that has it, and a square that is only bright is found
by neither.
"""

from __future__ import annotations

import torch

from regard.attention.functional import align, attend
from regard.data.image import spread
from regard.errors import UsageError
from regard.worked.worked_example import Step, Table, Worked, matrix, plain

SIDE = 2  # pixels of a square
PICTURE = (
    (0.0, 0.0, 0.0, 0.0, 1.0, 0.0),
    (0.0, 0.0, 0.0, 0.0, 1.0, 0.0),
    (0.0, 0.0, 1.0, 1.0, 0.0, 0.0),
    (0.0, 0.0, 1.0, 1.0, 0.0, 0.0),
    (1.0, 1.0, 0.0, 0.0, 0.0, 0.0),
    (0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
)
FILTERS = ((1.0, -1.0, 1.0, -1.0), (1.0, 1.0, -1.0, -1.0))


def picture_attention(
    picture: Table = PICTURE,
    filters: Table = FILTERS,
    queries: Table = ((2.0, 0.0), (0.0, 2.0)),
) -> Worked:
    """A picture becomes a grid of states, and each word of its caption looks at the grid before it is said.

    The first filter answers to what is light on the left, an upright line; the second to what is light above,
    a line that lies. A real model learns its filters, many of them, and its queries come from what it has
    said so far.
    """
    pixels = matrix("picture", picture)
    high, wide = (length // SIDE for length in pixels.shape)
    if (high * SIDE, wide * SIDE) != tuple(pixels.shape):
        raise UsageError(
            f"picture must have an even number of rows and columns; it is {pixels.shape[0]} x "
            f"{pixels.shape[1]}",
            where="picture",
            remedy=f"give squares of {SIDE} x {SIDE} pixels",
        )
    kernels = matrix("filters", filters, width=SIDE * SIDE)
    asked = matrix("queries", queries, width=len(kernels))
    squares = pixels.unflatten(0, (high, SIDE)).unflatten(2, (wide, SIDE)).transpose(1, 2)
    squares = squares.flatten(2).flatten(0, 1)
    states = squares @ kernels.T
    aligned = align(asked, states, score="dot")
    scores, weights = aligned.scores[0, 0], aligned.weights[0, 0]
    context = attend(asked, states, states, score="dot")
    other_order = attend(asked, states.flip(0), states.flip(0), score="dot")
    places = tuple(
        f"({row}, {column})" for row in range(1, high + 1) for column in range(1, wide + 1)
    )
    words = tuple(f"word {number}" for number in range(1, len(asked) + 1))
    maps = weights.unflatten(1, (high, wide))
    smooth = torch.from_numpy(spread(high, high * SIDE)).double() @ maps[0]
    smooth = smooth @ torch.from_numpy(spread(wide, wide * SIDE)).double().T
    return Worked(
        formula="h_j = F x_j;  a_ij = softmax_j(q_i . h_j);  c_i = sum_j a_ij h_j",
        given=(
            Step("picture", "light is 1", plain(pixels)),
            Step("filters", "F", plain(kernels)),
            Step("queries", "q_i: what each word looks for", plain(asked), words),
        ),
        steps=(
            Step("squares", "x_j: 2 x 2 pixels, row after row", plain(squares), places),
            Step(
                "states",
                "h_j = F x_j",
                plain(states),
                places,
                note="A square that is light all over gives 0 to both filters.",
            ),
            Step("scores", "q_i . h_j", plain(scores), words, places),
            Step("weights", "softmax over all squares", plain(weights), words, places),
            *(
                Step(f"map of {word}", "the weights in their places", plain(one))
                for word, one in zip(words, maps, strict=True)
            ),
            Step(
                "smooth map of word 1",
                "between the middles of the squares",
                plain(smooth),
                note="Only drawn so, as papers like it: the model knows nothing finer than a square.",
            ),
            Step("contexts", "c_i = sum_j a_ij h_j", plain(context), words),
            Step(
                "contexts, squares in another order",
                "the same sum",
                plain(other_order),
                words,
                note="No word can tell where a square lies, unless row and column are added to its state.",
            ),
        ),
        result=Step(
            "looked at",
            "the largest weight of each word: (row, column)",
            tuple(places[int(best)] for best in weights.argmax(1)),
            columns=words,
        ),
    )
