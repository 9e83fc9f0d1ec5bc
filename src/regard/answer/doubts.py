"""Why a translation may be none: the text is in a strange language, or came back as it was."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import final

from regard.text.language import doubt

_WORDS = 3  # of a text that comes back as it was; fewer may well be a name
_WORD = re.compile(r"[^\W\d_]+")


@final
@dataclass
class Doubts:
    """Collects why answers may be no translations; `noun` is what one text is called."""

    to: str | None
    known: Sequence[str]
    noun: str = "text"
    _found: dict[str, list[int]] = field(default_factory=dict)

    def add(self, number: int, text: str, answer: str) -> None:
        """Look at a text, counted from 1, and its answer."""
        if not self.known:
            return
        why = doubt(text, self.to, self.known)
        if why is None and answer == text and len(_WORD.findall(text)) >= _WORDS:
            why = "this came back as it was"
        if why is not None:
            self._found.setdefault(why, []).append(number)

    def told(self) -> list[str]:
        """One sentence for each reason, with the place of the first: `line 3 and 2 more: this ..`."""
        return [f"{self.noun} {_places(numbers)}: {why}" for why, numbers in self._found.items()]


def _places(numbers: Sequence[int]) -> str:
    first, more = f"{numbers[0]:,}", len(numbers) - 1
    return f"{first} and {more:,} more" if more else first
