"""The six score functions side by side, on the same query and keys (L17-L22)."""

from __future__ import annotations

import torch

from regard.attention import ScoreName, align
from regard.worked.example import Step, Worked
from regard.worked.given import Numbers, Table, matrix, numbered, plain, seeded, vector
from regard.worked.likeness import TABLES

JE, SUIS, ETUDIANT = TABLES["four cells (L4)"].values()

FORMULAS: dict[ScoreName, str] = {
    "cosine": "s . h / |s| |h|",
    "additive": "v . tanh(W [s; h]), here sum_n tanh(s_n + h_n)",
    "location": "(W s)_j, here the j-th neuron of s",
    "general": "s . W h, here W is the identity, which leaves the dot product",
    "dot": "s . h",
    "scaled-dot": "s . h / sqrt(n)",
}


def score_functions(query: Numbers = SUIS, keys: Table = (JE, SUIS, ETUDIANT)) -> Worked:
    """What each neuron contributes, the scores they add up to, and the softmax of those.

    A model learns the weights W and v. Here they are ones and identities: the plainest case.
    """
    state = vector("query", query)
    memory = matrix("keys", keys, width=len(state))
    labels, neurons = numbered("h_", len(memory)), numbered("neuron ", len(state))
    steps, weights = [], []
    for name, formula in FORMULAS.items():
        with seeded(0):  # a named score draws its weights before they are set
            found = align(state[None], memory, score=name)
        rows = torch.cat([found.scores[0, 0], found.weights[0, 0]])
        steps += [
            Step(f"{name}, by neuron", "", plain(found.contributions[0, 0, 0]), labels, neurons),
            Step(name, formula, plain(rows), ("score", "weight"), labels),
        ]
        weights.append(found.weights[0, 0, 0])
    return Worked(
        formula="alpha_i = softmax_i(score(s, h_i))",
        given=(
            Step("query", "s", plain(state), columns=neurons),
            Step("keys", "h_i", plain(memory), labels, neurons),
        ),
        steps=tuple(steps),
        result=Step("weights", "alpha_i", plain(torch.stack(weights)), tuple(FORMULAS), labels),
    )
