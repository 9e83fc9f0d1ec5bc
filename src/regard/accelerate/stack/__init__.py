"""A whole stack of Transformer blocks at once: without modules, or with its residual sums and norms fused."""

from __future__ import annotations

from regard.accelerate.stack.residuals import FusedResiduals
from regard.accelerate.stack.straight import Straight
from regard.layers.stack import StackForm

__all__ = ["FORMS", "FusedResiduals", "Straight"]

FORMS: tuple[StackForm, ...] = (Straight(), FusedResiduals())
