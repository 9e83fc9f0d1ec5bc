r"""One way to write each formula, so that what looks the same is the same row of symbols.

    >>> normalised(r"\sum^n_{i = 1} {\left ( \mbox { a } ^ 2 \right )}")
    '\\sum _ { i = 1 } ^ { n } ( a ^ { 2 } )'

Symbols stand apart. Braces are around every argument and script, and nowhere else; what is below comes before
what is above. What only sets type (`\left`, `\limits`, `\mbox`, spaces) is left out, and of two names of one
sign (`\lt`, `\to`, `'`) one stays. Signs that differ on paper (`\ldots`, `\cdots`) stay different.
"""

from __future__ import annotations

import re

# Names that stand next to a letter in some files: `u\gtM` is `u \gt M`.
GLUED = re.compile(r"\\([lg]t)(?=[A-Za-z])(?!eq)")
SYMBOL = re.compile(r"\\[A-Za-z]+|\\.|\S", re.DOTALL)
UNSEEN = frozenset(
    [
        rf"\{name}"
        for name in ("left", "right", "limits", "big", "Big", "bigg", "Bigg", "displaystyle")
    ]
    + [rf"\{name}" for name in ("mbox", "hbox", "vtop", "text", "mathrm", "rm", "quad", "qquad")]
    + [rf"\{sign}" for sign in "!,;: "]
    + ["$", "~", "\\"]
)
SAME: dict[str, tuple[str, ...]] = {
    r"\lt": ("<",),
    r"\gt": (">",),
    r"\le": (r"\leq",),
    r"\ge": (r"\geq",),
    r"\ne": (r"\neq",),
    r"\to": (r"\rightarrow",),
    r"\dots": (r"\ldots",),
    r"\lbrack": ("[",),
    r"\rbrack": ("]",),
    r"\parallel": ("|", "|"),
    r"\vert": ("|",),
    "'": (r"\prime",),
}
ARGUMENTS = {r"\frac": 2, r"\sqrt": 1}
SCRIPTS = ("_", "^")
PRIME = r"\prime"


def normalised(latex: str) -> str:
    """The formula as symbols with spaces between them."""
    apart = GLUED.sub(r"\\\1 ", latex)
    seen = (one for one in SYMBOL.findall(apart) if one not in UNSEEN)
    symbols = [same for one in seen for same in SAME.get(one, (one,))]
    for _ in range(
        2
    ):  # scripts of a group, `{y^{\prime}}^2`, are neighbours when the group is gone
        symbols = _Reader(symbols).row()
    return " ".join(symbols)


class _Reader:
    """Goes through the symbols once; a brace too many is ignored, and the end closes what is open."""

    def __init__(self, symbols: list[str]) -> None:
        self.symbols, self.place = symbols, 0

    def row(self, close: str = "", *, script: bool = False) -> list[str]:
        """All symbols up to `close`, or up to the end."""
        found: list[str] = []
        while self.place < len(self.symbols):
            if close and self.symbols[self.place] == close:
                self.place += 1
                return found
            found += self.scripts(script) if self.is_script(script) else self.one(script)
        return found

    def is_script(self, script: bool) -> bool:
        """A prime is written above, however it was typed."""
        symbol = self.symbols[self.place] if self.place < len(self.symbols) else ""
        return symbol in SCRIPTS or (symbol == PRIME and not script)

    def scripts(self, script: bool) -> list[str]:
        """Neighbouring scripts, what is below first."""
        own: dict[str, list[str]] = {mark: [] for mark in SCRIPTS}
        while self.is_script(script):
            mark = self.symbols[self.place]
            self.place += 1
            if mark == PRIME:
                own["^"].append(mark)
            else:
                own[mark] += self.argument(script=True)[1:-1]
        return [one for mark in SCRIPTS if own[mark] for one in (mark, "{", *own[mark], "}")]

    def argument(self, *, script: bool = False) -> list[str]:
        """One argument, in braces."""
        if self.place >= len(self.symbols):
            return ["{", "}"]
        if self.symbols[self.place] == "{":
            self.place += 1
            return ["{", *self.row("}", script=script), "}"]
        return ["{", *self.one(script), "}"]

    def one(self, script: bool) -> list[str]:
        """One symbol with its arguments; a group that is no argument is what it holds."""
        symbol = self.symbols[self.place]
        self.place += 1
        if symbol == "{":
            return self.row("}", script=script)
        if symbol == "}":
            return []
        found = [symbol]
        if symbol == r"\sqrt" and self.symbols[self.place : self.place + 1] == ["["]:
            self.place += 1
            found += ["[", *self.row("]"), "]"]
        for _ in range(ARGUMENTS.get(symbol, 0)):
            found += self.argument()
        return found
