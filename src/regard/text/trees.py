"""Trees over the words of a sentence: read from brackets, cleaned, written as a line of symbols and back.

`(S (NP (DT The) (NN cat)) (VP (VBD sat)))` becomes `(S (NP XX XX ) (VP XX ) )` (Vinyals 2015): each word is
one XX, so a parser says no word again, and a sequence of symbols is a tree wherever its brackets are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import final

from regard.errors import DataError

WORD, CLOSE = "XX", ")"
ROOTS = frozenset({"", "TOP", "ROOT", "S1"})  # names for the whole that say nothing
PUNCTUATION = frozenset({",", ".", ":", "``", "''"})  # tags that EVALB leaves out (COLLINS.prm)
SAME = {"PRT": "ADVP"}  # labels that EVALB takes for one
DEEPEST = 100  # the deepest of Penn's free 3,914 has 28
Bracket = tuple[str, int, int]  # label, first word, the word behind the last


@final
@dataclass(frozen=True)
class Tree:
    """A constituent: its label, and what it is made of. Above each word alone is its tag."""

    label: str
    children: tuple[Tree | str, ...]

    @property
    def is_tag(self) -> bool:
        """Whether this stands above one word alone."""
        return len(self.children) == 1 and isinstance(self.children[0], str)

    def __str__(self) -> str:
        return f"({self.label} {' '.join(map(str, self.children))})"

    def tagged(self) -> Iterator[tuple[str, str]]:
        """Every word with its tag, from left to right."""
        for child in self.children:
            if isinstance(child, Tree):
                yield from child.tagged()
            else:
                yield child, self.label

    @property
    def words(self) -> tuple[str, ...]:
        """The words, from left to right."""
        return tuple(word for word, _ in self.tagged())

    @property
    def depth(self) -> int:
        """How many constituents lie in one another, at most; tags do not count."""
        if self.is_tag:
            return 0
        return 1 + max((c.depth for c in self.children if isinstance(c, Tree)), default=0)


def without_brackets(text: str) -> str:
    """Words as Penn writes them, one space between two: -LRB- and -RRB- where a bracket stands in a word."""
    return " ".join(text.replace("(", "-LRB-").replace(")", "-RRB-").split())


def read_tree(text: str, where: str = "tree") -> Tree:
    """The tree of one pair of brackets; a pair around it without a label is left out."""
    trees = list(read_trees(text, where))
    if len(trees) != 1:
        raise _broken(f"{len(trees)} trees where there should be one", where)
    return trees[0]


def read_trees(text: str, where: str = "tree") -> Iterator[Tree]:
    """Tree after tree, over as many lines as they take."""
    open_ones: list[tuple[str, list[Tree | str]]] = []
    tokens = text.replace("(", " ( ").replace(")", " ) ").split()
    for number, part in enumerate(tokens):
        if part == "(":
            label = tokens[number + 1] if number + 1 < len(tokens) else ""
            open_ones.append(("" if label in ("(", ")") else label, []))
            if len(open_ones) > DEEPEST:
                raise _broken(f"more than {DEEPEST} brackets in one another", where)
        elif part == ")":
            if not open_ones:
                raise _broken("a bracket closes that was never opened", where)
            label, children = open_ones.pop()
            tree = Tree(label, tuple(children))
            if open_ones:
                open_ones[-1][1].append(tree)
            else:
                yield from _whole(tree)
        elif not open_ones:
            raise _broken(f"'{part[:40]}' stands outside of all brackets", where)
        elif tokens[number - 1] != "(":
            open_ones[-1][1].append(part)
    if open_ones:
        raise _broken(f"{len(open_ones)} brackets are never closed", where)


def _whole(tree: Tree) -> Iterator[Tree]:
    """Penn's files have brackets without a label around each tree."""
    if tree.label:
        yield tree
    else:
        yield from (child for child in tree.children if isinstance(child, Tree))


def cleaned(tree: Tree) -> Tree | None:
    """Without traces (-NONE-) and what held nothing else; NP-SBJ-1 and NP=2 are NP. None: nothing is left."""
    if tree.is_tag:
        return None if tree.label == "-NONE-" else tree
    kept = []
    for child in tree.children:
        whole = cleaned(child if isinstance(child, Tree) else Tree(WORD, (child,)))
        if whole is not None:
            kept.append(whole)
    label = tree.label
    if not label.startswith("-"):
        label = label.partition("-")[0].partition("=")[0]
    return Tree(label, tuple(kept)) if kept else None


def linear(tree: Tree) -> Iterator[str]:
    """The symbols of a tree: `(LABEL`, `XX` for a word, `)`."""
    if tree.is_tag:
        yield WORD
        return
    yield f"({tree.label}"
    for child in tree.children:
        if isinstance(child, Tree):
            yield from linear(child)
        else:
            yield WORD
    yield CLOSE


def grown(symbols: Sequence[str], words: Sequence[str] | None = None) -> Tree | None:
    """The tree that symbols say, over these words; None where they say none, or one over others."""
    names = iter(words if words is not None else [WORD] * symbols.count(WORD))
    open_ones: list[tuple[str, list[Tree | str]]] = []
    whole: Tree | None = None
    for symbol in symbols:
        if whole is not None:
            return None
        if symbol == CLOSE and open_ones and open_ones[-1][1]:
            label, children = open_ones.pop()
            tree = Tree(label, tuple(children))
            if open_ones:
                open_ones[-1][1].append(tree)
            else:
                whole = tree
        elif symbol == WORD and open_ones:
            word = next(names, None)
            if word is None:
                return None
            open_ones[-1][1].append(Tree(WORD, (word,)))
        elif symbol.startswith("(") and len(symbol) > 1 and len(open_ones) < DEEPEST:
            open_ones.append((symbol[1:], []))
        else:
            return None
    return whole if next(names, None) is None else None


def brackets(tree: Tree, left_out: frozenset[int] = frozenset()) -> Counter[Bracket]:
    """Each constituent as (label, first word, end), as EVALB counts them: no tags, no name of the whole.

    Words by number that are `left_out`, punctuation, are in none; a constituent of nothing else is none.
    """
    counts: Counter[Bracket] = Counter()

    def visit(one: Tree, start: int, at: int) -> tuple[int, int]:
        """Where this one ends: with words left out, and with all."""
        first = start
        for child in one.children:
            if isinstance(child, Tree):
                start, at = visit(child, start, at)
            else:
                start, at = start + (at not in left_out), at + 1
        if not one.is_tag and one.label not in ROOTS and start > first:
            counts[SAME.get(one.label, one.label), first, start] += 1
        return start, at

    visit(tree, 0, 0)
    return counts


def _broken(what: str, where: str) -> DataError:
    remedy = "write trees as (S (NP (DT The) (NN cat)) (VP (VBD sat)))"
    return DataError(f"this is no tree: {what}", where=where, remedy=remedy)
