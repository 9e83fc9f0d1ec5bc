"""One sentence in many languages: which word goes where, and how many links cross (L89, L106).

The links are drawn by hand, since no model here knows all of these languages. The same picture by a model's
own attention is `regard look translator "The black cat ate the mouse." --to fr,de`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import final

from regard.errors import UsageError
from regard.worked.worked_example import Slip, Step, Worked, numbered

ENGLISH = ("The", "black", "cat", "ate", "the", "mouse")
# As the lecture prints them; Chinese is cut into words here.
TRANSLATIONS = {
    "French": ("Le", "chat", "noir", "a", "mangé", "la", "souris"),
    "Italian": ("Il", "gatto", "nero", "ha", "mangiato", "il", "topo"),
    "German": ("Die", "schwarze", "Katze", "hat", "die", "Maus", "gefressen"),
    "Spanish": ("El", "gato", "negro", "se", "comió", "el", "ratón"),
    "Chinese": ("黑", "猫", "吃", "老鼠"),
    "Hindi": ("काले", "बिल्ली", "ने", "चूहे", "को", "खा", "लिया"),
}
# For each word the number of the English word that it translates, from 1; 0 for none.
LINKS = {
    "French": (1, 3, 2, 4, 4, 5, 6),
    "Italian": (1, 3, 2, 4, 4, 5, 6),
    "German": (1, 2, 3, 4, 5, 6, 4),
    "Spanish": (1, 3, 2, 4, 4, 5, 6),
    "Chinese": (2, 3, 4, 6),
    "Hindi": (2, 3, 0, 6, 0, 4, 4),
}

SLIPS = (
    Slip(
        "L89",
        "Hindi",
        "काले बिल्ली",
        "काली बिल्ली",
        "The cat is feminine in Hindi, and the adjective agrees with it. The lecture says itself that its "
        "translations may carry errors.",
    ),
)


@final
@dataclass(frozen=True)
class Order:
    """A sentence of one language, and for each of its words the word of the source it comes from, from 0."""

    language: str
    words: tuple[str, ...]
    sources: tuple[int | None, ...]

    @property
    def links(self) -> list[tuple[int, int]]:
        """(place in the source, place here), in the order of the words here."""
        return [(one, place) for place, one in enumerate(self.sources) if one is not None]

    @property
    def crossings(self) -> int:
        """How many pairs of links cross: none where the order is that of the source."""
        pairs = combinations(self.links, 2)
        return sum((one[0] - other[0]) * (one[1] - other[1]) < 0 for one, other in pairs)

    def as_dict(self) -> dict[str, object]:
        """For JSON."""
        own = {"spoken": self.language, "words": list(self.words)}
        return {**own, "sources": list(self.sources), "crossings": self.crossings}


def word_orders(
    words: Sequence[str] = ENGLISH,
    translations: Mapping[str, Sequence[str]] = TRANSLATIONS,
    links: Mapping[str, Sequence[int]] = LINKS,
) -> Worked:
    """Which English word each word of a translation comes from, and how many of these links cross.

    The links were drawn by hand; no model was asked.
    """
    orders = hand_drawn(words, translations, links)
    return Worked(
        formula="crossings = pairs of links (i, j) and (k, l) with i < k and j > l",
        given=(
            Step(
                "English",
                "the words, by their numbers",
                tuple(words),
                columns=numbered("", len(words)),
            ),
        ),
        steps=tuple(
            Step(
                order.language,
                "the number of the English word, 0 for none; drawn by hand",
                tuple(0 if one is None else one + 1 for one in order.sources),
                columns=order.words,
            )
            for order in orders
        ),
        result=Step(
            "crossings",
            "how many pairs of links cross",
            tuple(order.crossings for order in orders),
            columns=tuple(order.language for order in orders),
        ),
        slips=SLIPS if tuple(translations.get("Hindi", ())) == TRANSLATIONS["Hindi"] else (),
    )


def hand_drawn(
    words: Sequence[str],
    translations: Mapping[str, Sequence[str]],
    links: Mapping[str, Sequence[int]],
) -> list[Order]:
    """Each translation with its links; both must fit."""
    orders = []
    for language, own in translations.items():
        numbers = links.get(language, ())
        if len(numbers) != len(own) or not all(0 <= one <= len(words) for one in numbers):
            raise UsageError(
                f"the links of {language} do not fit its words",
                where="links",
                remedy=f"give one number from 0 to {len(words)} for each of its {len(own)} words",
            )
        orders.append(
            Order(language, tuple(own), tuple(one - 1 if one else None for one in numbers))
        )
    return orders
