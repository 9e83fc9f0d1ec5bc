"""Where a token's information comes from when every layer's attention is followed downwards (Abnar 2020)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from regard.errors import UsageError
from regard.traces.site import TracedSite


def rollout(sites: Sequence[TracedSite]) -> Float[np.ndarray, "layer query key"]:
    """A_l ... A_1 for each layer l of self-attention, A = (mean over heads + identity) / 2.

    The identity stands for the residual connection. An encoder's layers if there are any, else a decoder's.
    """
    for kind in ("encoder-self", "decoder-self"):
        layers = sorted((site for site in sites if site.kind == kind), key=lambda s: s.layer)
        if layers:
            break
    else:
        raise UsageError(
            "this model has no self-attention to follow",
            where="rollout",
            remedy="rollout follows the layers of a Transformer: look at one attention instead",
        )
    reached = np.eye(layers[0].weights.shape[-1])
    found = []
    for site in layers:
        mixed = (site.weights.mean(0) + np.eye(len(reached))) / 2
        reached = mixed / mixed.sum(-1, keepdims=True) @ reached
        found.append(reached.astype(np.float32))
    return np.stack(found)
