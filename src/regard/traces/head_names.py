"""What heads are called: their kinds, and what is measured of each; known without torch."""

from __future__ import annotations

from typing import Literal, get_args

Kind = Literal["encoder-self", "decoder-self", "cross", "rnn", "pointer", "pool", "choice"]
KINDS: tuple[Kind, ...] = get_args(Kind)
SHARES = ("position", "content")  # of each score, measured only where somebody asks for them
# A head on what it looks for.
FOUND = ("first", "separator", "duplicate", "induction", "rare", "alignment")
OFFSETS = {-1: "previous", 0: "self", 1: "next"}
ROLES = (*OFFSETS.values(), "offset", *FOUND)  # and the relations of trees
MEASURES = ("entropy", "confidence", "distance", "self", "previous", "next", *FOUND, *SHARES)
