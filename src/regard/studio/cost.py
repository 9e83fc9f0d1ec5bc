"""What a question would cost, known before anybody waits for it: symbols, steps of search, weights kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

from regard.studio.refusal import Refusal
from regard.studio.settings import Limits

if TYPE_CHECKING:
    from regard.answer.predictor import Predictor
    from regard.decode import DecodeSettings


def check_cost(predictor: Predictor, text: str, settings: DecodeSettings, limits: Limits) -> None:
    """Refuse, with the limit and the value, what would take too long or too much memory (S3)."""
    task = predictor.run.task
    symbols = task.count(text)
    _within("text", "symbols", symbols, limits.symbols)
    written = settings.max_length if task.named else symbols + 1
    _within("beam", "symbols x beam", (symbols + written) * settings.beam, limits.steps)
    longest = symbols + written if task.sides == "target" else max(symbols, written)
    _within("text", "attention weights", heads_of(predictor) * longest**2, limits.cells)
    predictor.fitting([text])


def heads_of(predictor: Predictor) -> int:
    """All heads of all attentions of a model."""
    from regard.attention import Attention, Heads

    modules = list(predictor.model.modules())
    several = [module for module in modules if isinstance(module, Heads)]
    single = sum(isinstance(module, Attention) for module in modules) - len(several)
    return sum(module.num_heads for module in several) + single


def _within(where: str, what: str, value: int, most: int) -> None:
    if value > most:
        raise Refusal(
            422, f"this asks for {value:,} {what}; the limit is {most:,}", where, "ask for less"
        )
