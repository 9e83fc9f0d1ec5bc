"""Listen, attend and spell by hand: pairs of frames, and a score that sees where it looked last (L83).

In `b a n a` one sound comes twice. What it is cannot tell the two apart; where the last step looked can.
"""

from __future__ import annotations

import torch

from regard.attention import Attention, LocationAware
from regard.layers.recurrent import paired
from regard.worked.worked_example import (
    Number,
    Numbers,
    Step,
    Table,
    Worked,
    matrix,
    numbered,
    plain,
    seeded,
    vector,
)

FRAMES = (
    *((1.0, 0.0), (0.8, 0.2)),  # b
    *((0.0, 1.0), (0.0, 1.0)),  # a
    *((0.6, 0.0), (0.4, 0.0)),  # n
    *((0.0, 1.0), (0.0, 1.0)),  # a once more
)


def listen_attend_spell(
    frames: Table = FRAMES,
    query: Numbers = (-3.0, 0.0, -3.0, 0.0),
    previous: Numbers = (0.0, 0.1, 0.8, 0.1),
    pull: Number = 3.0,
) -> Worked:
    """Frames become half as many states; one step looks for a sound by what it is, then also by where it was.

    The filter of this example sees the weight of the state just before, so that `pull` times as much speaks
    for the state that comes next (Chorowski 2015). Real models learn ten filters, each many states wide.
    """
    heard = matrix("frames", frames)
    states = paired(heard[None], torch.tensor([len(heard)]))[0]
    state = vector("query", query, width=states.shape[1])
    before = vector("previous", previous, width=len(states))
    attention = Attention(_score(states.shape[1], float(pull)))
    with torch.no_grad():
        memory = attention.remember(states[None, None], states[None, None])
        blind = attention.read(state[None, None, None], memory)
        seeing = attention.read(state[None, None, None], memory.carry(previous=before[None, None]))
        assert isinstance(attention.score, LocationAware)
        noticed = attention.score.features({"previous": before[None, None]})[0, 0, :, 0]
    labels = numbered("h_", len(states))
    best = int(seeing.weights[0, 0, 0].argmax())
    return Worked(
        formula="f_j = sum_k Q_k a'_j+k;  e_j = v . tanh(s + h_j + F f_j);  a = softmax(e)",
        given=(
            Step("frames", "x_t", plain(heard), rows=numbered("x_", len(heard))),
            Step("query", "s: looks for the sound `a`", plain(state)),
            Step(
                "previous weights", "a': the last step looked at `n`", plain(before), columns=labels
            ),
        ),
        steps=(
            Step("states", "h_i = [x_2i-1; x_2i]: half as many (Chan 2016)", plain(states), labels),
            Step(
                "scores by content",
                "v . tanh(s + h_j)",
                plain(_row(blind.aligned.scores)),
                columns=labels,
            ),
            Step(
                "weights by content",
                "softmax",
                plain(_row(blind.weights)),
                columns=labels,
                note="Both times `a` sounds, the weight is the same: content cannot choose.",
            ),
            Step(
                "features",
                "f_j = a'_j-1: what the state before had",
                plain(noticed),
                columns=labels,
            ),
            Step(
                "scores",
                "v . tanh(s + h_j + F f_j)",
                plain(_row(seeing.aligned.scores)),
                columns=labels,
            ),
            Step("weights", "softmax", plain(_row(seeing.weights)), columns=labels),
            Step("context", "c = sum_j a_j h_j", plain(seeing.context[0, 0, 0])),
        ),
        result=Step("looked at", "the largest weight", labels[best]),
    )


def _score(width: int, pull: float) -> LocationAware:
    """W and U the identity, v all ones, one filter that sees the place before, and F = pull for all."""
    with seeded(1):
        score = LocationAware(width, width, width, filters=1, reach=1).double()
    with torch.no_grad():
        for weight in (score.query_weight, score.key_weight):
            weight.copy_(torch.eye(width)[None])
        score.value_weight.fill_(1.0)
        score.filter_weight.copy_(torch.tensor([[[1.0, 0.0, 0.0]]]))
        score.feature_weight.fill_(pull)
    return score


def _row(scores: torch.Tensor) -> torch.Tensor:
    return scores[0, 0, 0]
