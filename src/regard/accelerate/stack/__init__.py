"""A whole stack of Transformer blocks at once: without modules, or with its residual sums and norms fused."""

from __future__ import annotations

from regard.accelerate.stack.residuals import FusedResiduals
from regard.accelerate.stack.without_modules import Straight
from regard.layers.block import StackForm

__all__ = ["FORMS", "FusedResiduals", "Straight"]

FORMS: tuple[StackForm, ...] = (Straight(), FusedResiduals())
