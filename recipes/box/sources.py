"""Where the bitext comes from, under which licence, and whether a model that ships may learn from it.

A source stays out when its licence forbids commercial use or is not known well enough to say. News that
was published for research on translation is learned from, and the card says so (docs/decisions/0014).
`human` is false where a machine made the translation; `later` is true where a source came after the held-out
sets were chosen, so that they stay what they were.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Source:
    """One value of the bitext's third column."""

    kind: str
    licence: str
    ships: bool
    human: bool = True
    later: bool = False


SOFTWARE = ("gettext", "msdotnet", "msdyn", "msgraph", "msm365", "mssmb", "mswin32", "pydocs")
EVERYDAY = ("tatoeba",)
OWN = ("made", "written")  # by us: half past three in the afternoon may be 15:30
# How often a pair of a source is said in the last training: what is rare and what people ask for more than
# once, of what two trainings have read already only a share.
TIMES = {
    "europarl": 0.2,
    "europarl3": 0.35,
    "gettext": 0.35,
    "msdotnet": 0.35,
    "msdyn": 0.35,
    "ddtp": 0.35,
    "msm365": 0.5,
    "pydocs": 0.5,
    "freedict": 0.5,
    "helpdocs": 0.6,
    "awsnpm": 2,
    "newsdev": 4,
    "mlqe-pe": 4,
    "ntrex": 6,
    "flores-dev": 6,
    "wmt": 6,
    "written": 8,
}
FIRST = {"tatoeba": 2, "awsnpm": 3, "ntrex": 4, "flores-dev": 4}  # in the first two trainings

# Of the short training at the end (`clean.py --some`), which shows mostly pairs of our own, so many of a
# source's pairs are read beside them: enough of each that nothing is forgotten, of software text more.
SOME = {
    "europarl": 0.004,
    "europarl3": 0,
    "gettext": 0.022,
    "ddtp": 0.01,
    "freedict": 0.01,
    "helpdocs": 0.03,
    "newsdev": 0.15,
    "mlqe-pe": 0.1,
    "ntrex": 0.3,
    "flores-dev": 0.3,
    "wmt": 0.12,
    "made": 1,
    "written": 1,
}

_MICROSOFT = Source("software documentation", "CC BY 4.0", True)
_SUBTITLES = Source("film dialogue", "research; subtitles of unknown owners", False)
_NEWS = Source("news of a shared task", "research", True, later=True)

SOURCES = {
    "europarl": Source("parliament", "European Parliament: reuse with the source named", True),
    "gettext": Source("software messages", "free software, each project's own", True),
    "tatoeba": Source("everyday sentences", "CC BY 2.0 FR", True),
    "msdotnet": _MICROSOFT,
    "msdyn": _MICROSOFT,
    "msgraph": _MICROSOFT,
    "msm365": _MICROSOFT,
    "mssmb": _MICROSOFT,
    "mswin32": _MICROSOFT,
    "awsnpm": Source("fiction, news, dialogue", "MIT", True, human=False),
    "ddtp": Source("package descriptions", "free software, each package's own", True),
    "helpdocs": Source("manuals", "free documentation, each manual's own", True),
    "pydocs": Source("the Python manual", "PSF and CC0", True),
    "ntrex": Source("news", "CC BY-SA 4.0", True),
    "flores-dev": Source("encyclopedia", "CC BY-SA 4.0", True),
    "ctxpro-opensubs": _SUBTITLES,
    "opensubs-contrastive": _SUBTITLES,
    "diabla": Source("chat", "research", False),
    "multi30k": Source("picture captions", "non-commercial", False),
    "iwslt-ted": Source("talks", "CC BY-NC-ND", False),
    "mlqe-pe": Source("encyclopedia, post-edited", "research; mixed", True, later=True),
    "newsdev": _NEWS,
    "europarl3": Source(
        "parliament", "European Parliament: reuse with the source named", True, later=True
    ),
    "freedict": Source("dictionary", "GPL-2 or later", True, later=True),
    "made": Source("sentences made by rules", "Apache-2.0, this project", True, later=True),
    "written": Source("sentences written for this", "Apache-2.0, this project", True, later=True),
    "bilinguator-books": Source("books", "not stated; some translations are recent", False),
    "storybook": Source("children's stories", "mixed", False),
    "quran": Source("scripture", "not stated; modern translations", False),
    "atmt-enfr": Source("everyday sentences of a course", "not stated", False),
    "ratp": Source("telephone calls", "not stated", False),
}


def times(name: str, first: bool = False) -> float:
    """How often a pair of this source is said, on average."""
    if first:
        return 0 if source(name).later else FIRST.get(name, 1)
    return TIMES.get("wmt" if name.startswith("wmt-") else name, 1)


def some(name: str) -> float:
    """The share of a source's pairs that the short training at the end reads."""
    return SOME.get("wmt" if name.startswith("wmt-") else name, 0.02)


def source(name: str) -> Source:
    """What is known of a source; one that is not in the table does not ship."""
    if name.startswith("wmt-"):
        return _NEWS
    return SOURCES.get(name, Source("unknown", "unknown", False))
