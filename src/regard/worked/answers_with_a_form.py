"""Answers with a form, by hand: a round trip pointed out city by city (L81), a tree as brackets (L95)."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise, permutations

import torch

from regard.attention import Attention, Dot, Given, Softmax
from regard.errors import UsageError
from regard.text.trees import Bracket, brackets, grown, linear, read_tree
from regard.worked.likeness import Words
from regard.worked.worked_example import Number, Step, Worked, matrix, plain, positive

CITIES: Words = {"A": (0, 0), "B": (1, 0), "C": (1.9, 0), "D": (0, 2.2), "E": (-0.8, 0)}
MOST = 8  # cities whose every order is tried


def pointed_tour(cities: Words = CITIES, sharpness: Number = 2) -> Worked:
    """A round trip by attention alone: the weights over the cities are the answer (Vinyals 2015).

    Keys are made so that q . k_j is largest for the nearest city: it is -|x_q - x_j|^2 / 2 and a number that
    all have in common. A network learns keys and queries that see further than the next city.
    """
    points = matrix("cities", list(cities.values()), width=2)
    positive(sharpness=sharpness)
    if not 3 <= len(points) <= MOST:
        raise UsageError(
            f"a round trip here has 3 to {MOST} cities", "cities", "give fewer, or more"
        )
    names = tuple(cities)
    keys = torch.cat([points, -(points**2).sum(1, keepdim=True) / 2], 1)
    attention = Attention(Dot(), Softmax())
    tour, steps = [0], []
    while len(tour) < len(names):
        free = torch.tensor([[[[place not in tour for place in range(len(names))]]]])
        query = sharpness * torch.cat([points[tour[-1]], torch.ones(1, dtype=points.dtype)])
        memory = attention.remember(keys[None, None], keys[None, None], Given(free))
        aligned = attention.align(query[None, None, None], memory)
        shown = f"from {names[tour[-1]]}"
        scores, weights = aligned.scores[0, 0, 0], aligned.weights[0, 0, 0]
        steps += [
            Step(f"scores {shown}", "q . k_j, -inf where it was", plain(scores), columns=names),
            Step(f"weights {shown}", "softmax: this step's answer", plain(weights), columns=names),
        ]
        tour.append(int(weights.argmax()))
    best = min(([0, *rest] for rest in permutations(range(1, len(names)))),
               key=lambda order: _length(points, order))  # fmt: skip
    worse = _length(points, tour) > _length(points, best) + 1e-9
    return Worked(
        formula="p(next = j) = softmax_j(q . k_j),  -inf for cities where the tour was",
        given=(Step("cities", "x_j: where they lie", plain(points), rows=names),),
        steps=(
            Step("keys", "k_j = [x_j, -|x_j|^2 / 2];  q = sharpness [x_last, 1]", plain(keys), rows=names),
            *steps,
            Step("tour", "pointed at, one after the other", tuple(names[place] for place in tour)),
            Step("length", "back to the first city", _length(points, tour)),
            Step("shortest tour", "of all orders", tuple(names[place] for place in best)),
            Step("shortest length", "of all orders", _length(points, best),
                 note="Here the nearest city is not always the best next one." if worse else ""),
        ),
        result=Step("longer by", "per cent", 100 * (_length(points, tour) / _length(points, best) - 1)),
    )  # fmt: skip


def _length(points: torch.Tensor, order: list[int]) -> float:
    return sum(float((points[a] - points[b]).norm()) for a, b in pairwise([*order, order[0]]))


TREE = "(S (NP (DT the) (NN cat)) (VP (VBD saw) (NP (NP (DT a) (NN dog)) (PP (IN in) (NP (NN town))))))"
GUESS = "(S (NP XX XX ) (VP XX (NP XX XX ) (PP XX (NP XX ) ) ) )"


def tree_in_brackets(tree: str = TREE, guess: str = GUESS) -> Worked:
    """A tree over a sentence is a row of symbols, which a decoder says like a translation (Vinyals 2015).

    The guess hangs *in town* on *saw*: which of its constituents are right is what labelled F1 counts.
    """
    right = read_tree(tree)
    words = right.words
    symbols = tuple(linear(right))
    guessed = grown(guess.split(), words)
    if guessed is None:
        raise UsageError(
            f"this is no tree over {len(words)} words",
            where="guess",
            remedy="write it as `(S (NP XX ) (VP XX ) )`: each bracket that opens is closed, XX is a word",
        )
    wanted, said = brackets(right), brackets(guessed)
    both = wanted & said
    counts = (both.total(), said.total(), wanted.total())
    precision, recall = counts[0] / max(1, counts[1]), counts[0] / max(1, counts[2])
    return Worked(
        formula="precision = right / said,  recall = right / wanted,  F1 = 2 p r / (p + r)",
        given=(
            Step("tree", "as the treebank has it", tree),
            Step("guess", "as a decoder says it; XX is a word", guess),
        ),
        steps=(
            Step("symbols", "the tree as a row: tags and words are XX", " ".join(symbols)),
            Step("wanted", "constituents of the tree", _constituents(wanted, words)),
            Step("said", "constituents of the guess", _constituents(said, words)),
            Step("right", "in both: label, first and last word", _constituents(both, words)),
            Step("counts", "right, said, wanted", counts, columns=("right", "said", "wanted")),
            Step("precision and recall", "right / said, right / wanted", (precision, recall),
                 columns=("precision", "recall")),
        ),
        result=Step("F1", "2 p r / (p + r)", 2 * precision * recall / max(1e-12, precision + recall)),
    )  # fmt: skip


def _constituents(found: Counter[Bracket], words: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """From left to right, the larger one first."""
    spans = sorted(found.elements(), key=lambda one: (one[1], -one[2]))
    return tuple((label, " ".join(words[begin:end])) for label, begin, end in spans)
