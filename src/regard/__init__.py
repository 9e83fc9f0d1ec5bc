"""Train attention models on your own text, and see where they look.

`import regard` is instant: torch is loaded with the first name that needs it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from regard.attention import align as align
    from regard.attention import attend as attend
    from regard.attention import watch as watch

__version__ = "0.1.0"

_HOMES = {
    "attention": """
        Additive Alibi Aligned Attention Causal Cosine Dot Entmax15 FeatureMap General Given
        GlobalWindow Gumbel Hard Heads Learned Location Memory Padding Proportional Relu Rotary
        ScaledDot Sigmoid Sinusoidal Softmax Sparsemax Strided Window align attend sinusoid watch
    """,
}
_HOME_OF = {name: room for room, names in _HOMES.items() for name in names.split()}

__all__ = sorted(_HOME_OF)  # noqa: PLE0605


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"regard has no '{name}'")
    return getattr(import_module(f"regard.{_HOME_OF[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
