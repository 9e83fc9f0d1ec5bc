"""What training minimises: the weights of the terms in `tasks/objective.py`."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, NonNegativeFloat

from regard.config import Settings

Share = Annotated[float, Field(ge=0, lt=1)]


class ObjectiveSettings(Settings):
    """A sum of terms; the negative log-likelihood of the right answer always counts with weight 1."""

    smoothing: Share = 0.1
    """Share of the probability that label smoothing gives to all other symbols, from 0 to below 1."""
    agreement: NonNegativeFloat = 0.0
    """How strongly two passes with different dropout must agree (R-Drop); 5 helps small corpora."""
    coverage: NonNegativeFloat = 0.0
    """Weight of the coverage loss, which punishes attending twice to the same place; 1 is usual."""
    entropy: float = 0.0
    """Weight of the attention's entropy: above 0 makes attention sharper, below 0 broader."""
    disagreement: NonNegativeFloat = 0.0
    """Weight of how alike the heads of one attention look; above 0 drives heads apart."""
