"""What a block does with a word beside attention: residual, norm, feed-forward network, dropout (L59-L65)."""

from __future__ import annotations

import torch
from torch import nn

from regard.errors import UsageError
from regard.layers import FeedForward, LayerNorm, Residual
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


def one_block(
    word: Numbers = (1.0, 0.0, 2.0),
    context: Numbers = (1.0, 2.0, -2.0),
    widen: Table = ((1.0, -1.0, 0.5, 0.0), (0.0, 1.0, -0.5, 1.0), (1.0, 0.0, 1.0, -1.0)),
    narrow: Table = ((1.0, 0.0, -1.0), (0.0, 1.0, 0.0), (0.5, 0.5, 0.0), (0.0, -1.0, 1.0)),
    gain: Numbers = (1.0, 2.0, 1.0),
    shift: Numbers = (0.0, 0.0, 0.5),
    dropout: Number = 0.5,
    seed: int = 2,
) -> Worked:
    """One word through a block, the norm after each sum: the context, then the network's change.

    The network is the same at each position, so that one word is enough to see it.
    """
    if not 0 <= dropout < 1:
        raise UsageError("dropout lies from 0 up to 1", "dropout", "give a share, such as 0.5")
    state, read = vector("word", word), vector("context", context, len(word))
    width = len(state)
    inner_by, outer_by = matrix("widen", widen, height=width), matrix("narrow", narrow, width=width)
    if len(outer_by) != inner_by.shape[1]:
        raise UsageError(
            f"widen makes {inner_by.shape[1]} numbers, and narrow has {len(outer_by)} rows",
            where="narrow",
            remedy="give narrow as many rows as widen has columns",
        )
    norm = LayerNorm(width).double()
    _write(norm.weight, vector("gain", gain, width))
    _write(norm.bias, vector("shift", shift, width))
    with seeded(seed):
        kept = nn.Dropout(float(dropout))(torch.ones(len(outer_by), dtype=state.dtype))
        network = FeedForward(width, len(outer_by)).double().eval()
    _write(network.widen.weight, inner_by.T)
    _write(network.narrow.weight, outer_by.T)
    around = Residual(width, order="post").double().eval()
    with torch.no_grad():
        total = state + read
        centred = LayerNorm(width, "plain").double()(total)
        normed = norm(total)
        wide = network.widen(normed)
        inner = wide.relu()
        change = network(normed)
        after = around(normed, network)
    cells = numbered("", width)
    inside = numbered("", len(outer_by))
    return Worked(
        formula="y = norm(x + z);  FFN(y) = max(0, y W_1 + b_1) W_2 + b_2;  out = norm(y + FFN(y))",
        given=(
            Step("word", "x: its state before the block", plain(state), columns=cells),
            Step("context", "z: what attention read for it", plain(read), columns=cells),
            Step("widen", "W_1; b_1 is 0", plain(inner_by), rows=cells, columns=inside),
            Step("narrow", "W_2; b_2 is 0", plain(outer_by), rows=inside, columns=cells),
        ),
        steps=(
            Step("sum", "x + z", plain(total), columns=cells,
                 note="The residual connection: the gradient has a way around attention (L60)."),
            Step("mean and deviation", "mu, sigma with 1/H",
                 (float(total.mean()), float(total.std(correction=0)))),
            Step("plain norm", "(x - mu) / (sigma + eps)", plain(centred), columns=cells,
                 note="As on the slide that has no gain (L61)."),
            Step("norm", "(x - mu) / sqrt(sigma^2 + eps) * gamma + beta", plain(normed), columns=cells,
                 note="Gain and shift are learned, one each a cell (L62)."),
            Step("widened", "y W_1 + b_1", plain(wide), columns=inside),
            Step("activated", "max(0, y W_1 + b_1)", plain(inner), columns=inside),
            Step("dropout", f"0 with probability {dropout:g}, else times 1 / (1 - {dropout:g})",
                 plain(inner * kept), columns=inside,
                 note="Only while learning, drawn anew each time; the mean stays. Below is without (L65)."),
            Step("change", "max(0, y W_1 + b_1) W_2 + b_2", plain(change), columns=cells),
            Step("second sum", "y + FFN(y)", plain(normed + change), columns=cells),
        ),
        result=Step("out", "norm(y + FFN(y)), gain 1 and shift 0", plain(after), columns=cells,
                    note="The next block begins with it: attention and network take turns (L64)."),
    )  # fmt: skip


@torch.no_grad()
def _write(parameter: torch.Tensor | None, numbers: torch.Tensor) -> None:
    assert parameter is not None
    parameter.copy_(numbers)
