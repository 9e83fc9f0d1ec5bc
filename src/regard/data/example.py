"""What a model learns from: one frozen value an example, of one class for each kind."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, final

from regard.errors import DataError, UsageError
from regard.question import SPELLED, Image, Question, Sound, Source

if TYPE_CHECKING:
    from regard.data.formats.format import OneFile


class Example(ABC):
    """One thing to learn from. A new kind of example says here all that reading, checking and showing ask."""

    __slots__ = ()
    noun: ClassVar[str]  # what one of them is called
    wanted: ClassVar[str]  # which files hold them, as a remedy
    sides: ClassVar[tuple[str, str]] = ("input", "output")  # how its two columns are called
    several: ClassVar[bool] = False  # whether it asks several sources, each by its name
    format: ClassVar[type[OneFile] | None] = None  # its own reader of files, if it has one

    def as_dict(self) -> dict[str, Any]:
        """Its fields by name, for JSON."""
        return {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]

    @classmethod
    def made(cls, first: str, second: str) -> Example | str:  # noqa: ARG003
        """The example that two columns of text make, or the reason why they make none."""
        return f"not {cls.sides[0]} and {cls.sides[1]}"

    @abstractmethod
    def shown(self) -> tuple[str, ...]:
        """Input and output as text, line below line."""

    @property
    def pictured(self) -> Mapping[int, str]:
        """The pictures that belong to it, as paths or data URLs, by their places among what is shown."""
        return {}

    def line(self) -> str:
        """All of it on one line."""
        return "  ->  ".join(map(short, self.shown()))

    @property
    @abstractmethod
    def asked(self) -> str:
        """Its input: two examples that share it ask the same."""

    @property
    def answer(self) -> str:
        """Its output, where it has one."""
        return ""

    @property
    def prose(self) -> str:
        """All of its running text, to look for faults in."""
        return self.asked

    @property
    def content(self) -> str:
        """What no two splits of a toy may share."""
        return self.asked

    @property
    def decides(self) -> str:
        """What decides whether it is held out: all of it, unless part of it may come again."""
        return repr(self)

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels it teaches, if it teaches labels."""
        return ()


@final
@dataclass(frozen=True, slots=True)
class Pair(Example):
    """A text and what it becomes: a sentence and its translation, a word and its sounds."""

    source: str
    target: str
    noun = "pair"
    wanted = "give two files (train.en train.de) or a TSV file of pairs"
    sides = ("source", "target")

    @classmethod
    def made(cls, first: str, second: str) -> Pair:
        """Source and target as they stand."""
        return cls(first, second)

    def shown(self) -> tuple[str, ...]:
        """Source above target."""
        return self.source, self.target

    def line(self) -> str:
        """`source  ->  target`."""
        return f"{short(self.source)}  ->  {short(self.target)}"

    @property
    def asked(self) -> str:
        """The source."""
        return self.source

    @property
    def answer(self) -> str:
        """The target."""
        return self.target

    @property
    def prose(self) -> str:
        """Both sides."""
        return f"{self.source}\n{self.target}"

    @property
    def content(self) -> str:
        """The target: a date written otherwise is the same date."""
        return self.target


@final
@dataclass(frozen=True, slots=True)
class Tagged(Example):
    """A sentence with one tag a word."""

    words: tuple[str, ...]
    tags: tuple[str, ...]
    noun = "tagged sentence"
    wanted = "give a CoNLL file, or JSON lines with tokens and tags"
    sides = ("words", "tags")

    @classmethod
    def made(cls, first: str, second: str) -> Tagged | str:
        """As many tags as words, both between spaces."""
        words, tags = tuple(first.split()), tuple(second.split())
        return cls(words, tags) if len(words) == len(tags) else "not one tag a word"

    def shown(self) -> tuple[str, ...]:
        """`I/PRON saw/VERB`."""
        return (" ".join(f"{word}/{tag}" for word, tag in zip(self.words, self.tags, strict=True)),)

    def line(self) -> str:
        """The same, cut short."""
        return short(self.shown()[0])

    @property
    def asked(self) -> str:
        """The words."""
        return " ".join(self.words)

    @property
    def answer(self) -> str:
        """The tags."""
        return " ".join(self.tags)

    @property
    def labels(self) -> tuple[str, ...]:
        """The tags."""
        return self.tags


@final
@dataclass(frozen=True, slots=True)
class Labelled(Example):
    """A text and the class it belongs to."""

    text: str
    label: str
    noun = "labelled text"
    wanted = "give lines of label, tab, text"
    sides = ("text", "label")

    @classmethod
    def made(cls, first: str, second: str) -> Labelled | str:
        """A text, and a label without the spaces around it."""
        return cls(first, second.strip()) if second.strip() else "empty"

    def shown(self) -> tuple[str, ...]:
        """Text above label."""
        return self.text, self.label

    def line(self) -> str:
        """`text  [label]`."""
        return f"{short(self.text)}  [{self.label}]"

    @property
    def asked(self) -> str:
        """The text."""
        return self.text

    @property
    def answer(self) -> str:
        """The label."""
        return self.label

    @property
    def labels(self) -> tuple[str, ...]:
        """The label."""
        return (self.label,)


@final
@dataclass(frozen=True, slots=True)
class Pointed(Example):
    """Items (one vector each), and the positions to point at, in order, counted from 0."""

    items: tuple[tuple[float, ...], ...]
    positions: tuple[int, ...]
    noun = "pointing problem"
    wanted = "give JSON lines with items and positions"
    sides = ("items", "positions")

    def shown(self) -> tuple[str, ...]:
        """Items above positions."""
        items = " ".join(",".join(f"{number:g}" for number in item) for item in self.items)
        return items, self.answer

    def line(self) -> str:
        """`7 items  ->  3 0 5`."""
        return f"{len(self.items)} items  ->  {self.answer}"

    @property
    def asked(self) -> str:
        """The items, to the last digit."""
        return repr(self.items)

    @property
    def answer(self) -> str:
        """The positions."""
        return " ".join(map(str, self.positions))

    @property
    def prose(self) -> str:
        """Numbers have no spelling to look at."""
        return ""


@final
@dataclass(frozen=True, slots=True)
class Captioned(Example):
    """A picture, as a path or a data URL, and one text about it, or several."""

    picture: str
    texts: tuple[str, ...]
    noun = "picture"
    wanted = "give a folder with pictures and a table of file and text (TSV, CSV or JSON lines)"
    sides = ("picture", "text")

    @classmethod
    def made(cls, first: str, second: str) -> Captioned:
        """A picture with one text."""
        return cls(first, (second,))

    @property
    def pictured(self) -> Mapping[int, str]:
        """The picture."""
        return {0: self.picture}

    def shown(self) -> tuple[str, ...]:
        """The picture's name above its texts."""
        return self.name, *self.texts

    def line(self) -> str:
        """`dog.png  ->  a dog runs`, and how many more texts there are."""
        more = f"  (and {len(self.texts) - 1} more)" if len(self.texts) > 1 else ""
        return f"{short(self.name)}  ->  {short(self.texts[0])}{more}"

    @property
    def name(self) -> str:
        """The name of its file; of one that was drawn, that it was."""
        return _file_name(self.picture, "(drawn)")

    @property
    def asked(self) -> str:
        """The picture."""
        return self.picture

    @property
    def answer(self) -> str:
        """Its texts, one a line."""
        return "\n".join(self.texts)

    @property
    def prose(self) -> str:
        """The texts."""
        return self.answer

    @property
    def content(self) -> str:
        """The texts: what a test says was never said in training."""
        return self.answer

    @property
    def decides(self) -> str:
        """The picture, so that no two splits share one."""
        return self.picture


@final
@dataclass(frozen=True, slots=True)
class Spoken(Example):
    """A sound, as a path, a data URL or the name of one that is synthesised, and what is said in it."""

    sound: str
    text: str
    noun = "sound"
    wanted = "give a folder with sounds and a table of file and text (TSV, CSV or JSON lines)"
    sides = ("sound", "text")

    @classmethod
    def made(cls, first: str, second: str) -> Spoken:
        """A sound and its text."""
        return cls(first, second)

    def shown(self) -> tuple[str, ...]:
        """The sound's name, its length and loudness above its text; only previews ask, for a few."""
        from regard.data.sound import glance

        return f"{self.name}  {glance(self.sound)}".rstrip(), self.text

    @property
    def name(self) -> str:
        """The name of its file; of one that is all in the data URL, that it is."""
        return _file_name(self.sound, "(sound)")

    @property
    def asked(self) -> str:
        """The sound."""
        return self.sound

    @property
    def answer(self) -> str:
        """The text."""
        return self.text

    @property
    def prose(self) -> str:
        """The text."""
        return self.text

    @property
    def content(self) -> str:
        """The text: what a test says was never said in training."""
        return self.text

    @property
    def decides(self) -> str:
        """The sound, so that no two splits share one."""
        return self.sound


@final
@dataclass(frozen=True, slots=True)
class Line(Example):
    """A text by itself, to learn what comes next."""

    text: str
    noun = "line"
    wanted = "give plain text"

    @classmethod
    def made(cls, first: str, second: str) -> Line:  # noqa: ARG003
        """The first column alone."""
        return cls(first)

    def shown(self) -> tuple[str, ...]:
        """The line."""
        return (self.text,)

    def line(self) -> str:
        """The line, cut short."""
        return short(self.text)

    @property
    def asked(self) -> str:
        """The whole line."""
        return self.text


@final
@dataclass(frozen=True, slots=True)
class Parsed(Example):
    """A sentence and the tree over its words, in brackets, its tags included."""

    words: tuple[str, ...]
    tree: str
    noun = "parsed sentence"
    wanted = "give a file of trees in brackets: (S (NP (DT The) (NN cat)) (VP (VBD sat)))"
    sides = ("words", "tree")

    @classmethod
    def made(cls, first: str, second: str) -> Parsed | str:
        """The words of the tree are those of the sentence."""
        from regard.text.trees import read_tree  # brings tokenizers, which no help page needs

        try:
            tree = read_tree(second)
        except DataError:
            return "not a tree"
        words = tree.words
        return cls(words, str(tree)) if words == tuple(first.split()) else "not a tree of its words"

    def shown(self) -> tuple[str, ...]:
        """Words above the tree."""
        return self.asked, self.tree

    @property
    def asked(self) -> str:
        """The words, a space between them."""
        return " ".join(self.words)

    @property
    def answer(self) -> str:
        """The tree."""
        return self.tree


@final
@dataclass(frozen=True, slots=True)
class Several(Example):
    """Sources by name, any of which may be missing, and the text that they become."""

    question: Question
    target: str
    noun = "multi-source example"
    wanted = "name the files of the sources, and the target's behind --to"
    several = True
    sides = ("sources", "target")

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {"question": str(self.question), "target": self.target}

    def shown(self) -> tuple[str, ...]:
        """Each source, then the target."""
        return (*(_named(name, one) for name, one in self.question.sources.items()), self.target)

    @property
    def pictured(self) -> Mapping[int, str]:
        """The pictures among its sources, where they are files."""
        sources = enumerate(self.question.sources.values())
        images = {n: one.data for n, one in sources if isinstance(one, Image)}
        return {n: data for n, data in images.items() if isinstance(data, str)}

    def line(self) -> str:
        """`en: two dogs | de: zwei Hunde  ->  deux chiens`."""
        sources = " | ".join(short(one) for one in self.shown()[:-1])
        return f"{sources}  ->  {short(self.target)}"

    @property
    def asked(self) -> str:
        """All sources, as one question."""
        return self.question

    @property
    def answer(self) -> str:
        """The target."""
        return self.target

    @property
    def prose(self) -> str:
        """Every text of it."""
        texts = (one for one in self.question.sources.values() if isinstance(one, str))
        return "\n".join((*texts, self.target))


def _named(name: str, source: Source) -> str:
    """A text after its name; a file by its own name, a sound with its length and loudness."""
    if not isinstance(source, Image | Sound):
        return f"{name}: {source}"
    if not isinstance(source.data, str):
        return f"{name}: numbers"
    if isinstance(source, Image):
        return f"{name}: {_file_name(source.data, '(drawn)')}"
    from regard.data.sound import glance

    return f"{name}: {_file_name(source.data, '(sound)')}  {glance(source.data)}"


def _file_name(origin: str, held: str) -> str:
    """The name of a file; of a data URL, what it holds; of a word to spell, the word."""
    if origin.startswith("data:"):
        return held
    return origin if origin.startswith(SPELLED) else Path(origin).name


@final
@dataclass(frozen=True)
class Columns:
    """Which columns are read, by name, and which one is written."""

    sources: tuple[str, ...]
    target: str

    def __post_init__(self) -> None:
        names = (*self.sources, self.target)
        for name in names:
            if not (name.isascii() and name.isidentifier() and name == name.lower()):
                raise UsageError(
                    f"'{name}' cannot be the name of a source",
                    where="data.sources",
                    remedy="use small letters, digits and underscores: en, de, picture",
                )
        if len(set(names)) < len(names) or "target" in self.sources:
            raise UsageError(
                f"the columns {', '.join(names)} need names of their own, and none is 'target'",
                where="data.sources",
                remedy="name every source once, and the target otherwise",
            )


Kind: TypeAlias = type[Example]


def short(text: str) -> str:
    """A text of at most 60 characters."""
    return text if len(text) <= 60 else f"{text[:57]}..."
