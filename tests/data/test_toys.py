"""Every toy: disjoint, distinct, repeatable; and every answer checked by another way to find it."""

import itertools
import json
import re
import subprocess
import sys
from collections import Counter
from datetime import date, datetime
from functools import cache

import pytest

from regard.data.example import Captioned, Pair, Parsed, Pointed, Several, Spoken, Tagged
from regard.data.toys import TOYS, Toy, toy
from regard.data.toys import english as grammar
from regard.data.toys.structure import convex_hull, depths
from regard.data.toys.toy import split_of, write_date
from regard.errors import UsageError
from regard.tasks.names import task_for
from regard.traces.examples import SENSES

TASKS = {
    "translate": {
        "phrases",
        "copy",
        "reverse",
        "dates",
        "numbers-en",
        "numbers-fr",
        "numbers-de",
        "headlines",
        "bulletins",
    },
    "point": {"sort", "hull", "tour"},
    "parse": {"grammar"},
    "tag": {"brackets", "before", "parts"},
    "classify": {"feelings", "balanced"},
    "language": {"stories", "sentences", "lending", "persian"},
    "multisource": {"witnesses"},
    "caption": {"shapes", "digits"},
    "transcribe": {"sounds"},
}
every_toy = pytest.mark.parametrize("one", TOYS.values(), ids=TOYS.keys())


@cache
def drawn(name, split, count):
    """Drawing is slow under the shape checks of a test run: draw once."""
    return tuple(toy(name).examples(split, count))


def sample(name, count=200):
    """Examples of training and the probe."""
    return (toy(name).probe, *drawn(name, "train", count))


def question(example):
    match example:
        case Pair():
            return example.source
        case Tagged() | Parsed():
            return example.words
        case Several():
            return str(example.question)
        case Pointed():
            return example.items
        case Captioned():
            return example.picture
        case Spoken():
            return example.sound
        case _:
            return example.text


def test_the_toys_are_known_by_name_and_task():
    assert {
        task: {n for n, one in TOYS.items() if task_for(one.kind) == task} for task in TASKS
    } == TASKS
    assert sum(len(names) for names in TASKS.values()) == len(TOYS)
    with pytest.raises(UsageError) as caught:
        toy("revers")
    assert str(caught.value) == "there is no toy 'revers'\ntoy\ndid you mean 'reverse'?"


@every_toy
def test_every_toy_speaks_for_itself(one: Toy):
    assert one.title
    assert one.story.endswith((".", ")."))
    assert "\n" not in one.title + one.story


@pytest.mark.parametrize("scale", [1, pytest.param(20, marks=pytest.mark.slow)])
@every_toy
def test_splits_are_disjoint_distinct_and_without_the_probe(one: Toy, scale):
    counts = {"train": 200 * scale, "valid": 10 * scale, "test": 10 * scale}
    splits = {split: drawn(one.name, split, count) for split, count in counts.items()}
    assert {split: len(examples) for split, examples in splits.items()} == counts
    together = [question(one.probe), *map(question, itertools.chain(*splits.values()))]
    assert len(set(together)) == len(together)


@pytest.mark.parametrize("split", ["train", "valid", "test"])
@pytest.mark.parametrize("name", sorted(TASKS["translate"]))
def test_the_answer_of_a_translation_decides_its_split(name, split):
    """So no test answer was seen in training, not even for another question."""
    examples = drawn(name, split, 200 if split == "train" else 10)
    assert {split_of(example.target) for example in examples} == {split}


@every_toy
def test_an_example_depends_on_name_split_and_place_only(one: Toy):
    assert tuple(one.examples("train", 20)) == drawn(one.name, "train", 200)[:20]
    assert not set(drawn(one.name, "valid", 10)) & set(drawn(one.name, "test", 10))


def test_another_process_with_another_hash_seed_draws_the_same():
    code = (
        "import json; from regard.data.toys import TOYS;"
        "print(json.dumps([repr(tuple(t.examples('test', 3))) for t in TOYS.values()]))"
    )
    answer = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONHASHSEED": "7"},
        capture_output=True,
        check=True,
        text=True,
    )
    expected = [repr(drawn(name, "test", 10)[:3]) for name in TOYS]
    assert json.loads(answer.stdout) == expected


def test_importing_the_toys_works_out_no_example():
    code = """
import sys
called = set()
def note(frame, event, _value):
    if event == "call" and "toys" in frame.f_code.co_filename:
        called.add(frame.f_code.co_name)
sys.setprofile(note)
import regard.data.toys
sys.setprofile(None)
print(*sorted(called))
"""
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, check=True, text=True
    )
    called = set(answer.stdout.split())
    assert {"<module>", "Toy"} <= called
    assert called <= {
        "<module>",
        "<dictcomp>",
        "Toy",
        "Noun",
        "Adjective",
        "Verb",
        "Phrase",
        "Thing",
        "_spelled",
    }


def test_split_shares_are_18_1_1():
    shares = Counter(split_of(str(number)) for number in range(5000))
    assert shares["train"] == pytest.approx(4500, abs=100)
    assert shares["test"] == pytest.approx(250, abs=60)


def test_a_small_world_ends_when_nothing_new_is_left():
    coin = Toy(
        "coin", "", "", Pair("", "x"), lambda g: Pair("coin", str(g.randrange(30))), unit="char"
    )
    targets = [
        sorted(int(e.target) for e in coin.examples(s, 1000)) for s in ("train", "valid", "test")
    ]
    assert sorted(itertools.chain(*targets)) == list(range(30))


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(TASKS["tag"] | TASKS["classify"]))
def test_every_answer_of_the_test_was_seen_in_training(name):
    def answers(split, count):
        for example in toy(name).examples(split, count):
            yield from example.tags if isinstance(example, Tagged) else [example.label]

    assert set(answers("test", None)) | set(answers("valid", None)) <= set(answers("train", None))


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(TASKS["translate"] | TASKS["language"]))
def test_every_symbol_of_the_test_was_seen_in_training(name):
    one = toy(name)

    def symbols(split, count):
        for example in one.examples(split, count):
            text = (
                f"{example.source} {example.target}" if isinstance(example, Pair) else example.text
            )
            yield from text.split() if one.unit == "word" else text

    assert set(symbols("test", None)) <= set(symbols("train", None))


def test_copy_and_reverse():
    for example in sample("copy"):
        assert example.target.split() == example.source.split()
    for example in sample("reverse"):
        assert example.target.split() == example.source.split()[::-1]
        assert 3 <= len(example.source.split()) <= 10


PATTERNS = (
    *("%d %B %Y", "%d %b %Y", "%B %d, %Y", "%b %d, %Y", "%A, %d %B %Y", "%A %b %d %Y"),
    *("the %d of %B %Y", "%d-%b-%y", "%d/%m/%Y", "%d/%m/%y", "%d.%m.%Y"),
)


def test_dates_are_what_the_calendar_reads():
    used = set()
    for example in sample("dates", 400):
        text = re.sub(r"(\d)(st|nd|rd|th)\b", r"\1", example.source)
        readings = {}
        for pattern in PATTERNS:
            try:
                readings[pattern] = datetime.strptime(text, pattern)
            except ValueError:
                continue
        assert {day.date().isoformat() for day in readings.values()} == {example.target}
        used |= readings.keys()
        weekday = re.match(r"(\w+day)", example.source)
        if weekday:
            assert f"{datetime.fromisoformat(example.target):%A}" == weekday[1]
    assert used == set(PATTERNS)


def test_ordinals():
    days = {day: write_date(date(2026, 10, day), "{ordinal}") for day in range(1, 32)}
    assert {day for day, text in days.items() if text == f"{day}st"} == {1, 21, 31}
    assert {day for day, text in days.items() if text == f"{day}nd"} == {2, 22}
    assert {day for day, text in days.items() if text == f"{day}rd"} == {3, 23}
    assert sum(text == f"{day}th" for day, text in days.items()) == 24


def test_sort_points_at_sorted_numbers():
    for example in sample("sort"):
        numbers = [number for (number,) in example.items]
        assert [numbers[position] for position in example.positions] == sorted(numbers)
        assert len(set(numbers)) == len(numbers) == len(example.positions)
        assert all(0 <= number < 1 for number in numbers)


def area(a, b, c):
    return round((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]), 9)


def hull_by_edges(points):
    """An edge of the hull has every other point on its left; follow the edges around."""
    places = range(len(points))
    following = {
        i: j
        for i, j in itertools.permutations(places, 2)
        if all(area(points[i], points[j], points[k]) > 0 for k in places if k not in (i, j))
    }
    walk = [min(following)]
    while following[walk[-1]] != walk[0]:
        walk.append(following[walk[-1]])
    assert len(walk) == len(following)
    return tuple(walk)


def test_hulls_are_found_by_brute_force_too():
    for example in sample("hull"):
        points = example.items
        if any(area(*three) == 0 for three in itertools.combinations(points, 3)):
            continue  # three on a line: no strict edge, see the next test
        assert example.positions == hull_by_edges(points)
        assert 3 <= len(points) <= 10


def test_points_on_an_edge_are_no_corners():
    square = [(1, 0), (0, 0), (2, 0), (2, 2), (0, 2), (2, 1), (1, 1)]
    assert convex_hull(square) == (1, 2, 3, 4)


def test_brackets_are_tagged_as_erasing_them_tells():
    """Erase innermost pairs again and again: what is never erased is alone."""
    for example in sample("brackets"):
        row = list(enumerate(example.words))
        pairs = []
        brackets = [item for item in row if item[1] in "()"]
        while True:
            found = next(
                (
                    i
                    for i in range(len(brackets) - 1)
                    if brackets[i][1] + brackets[i + 1][1] == "()"
                ),
                None,
            )
            if found is None:
                break
            pairs.append((brackets[found][0], brackets[found + 1][0]))
            del brackets[found : found + 2]
        alone = {place for place, _ in brackets}
        for place, tag in enumerate(example.tags):
            inside = sum(left <= place <= right for left, right in pairs)
            assert tag == ("alone" if place in alone else str(inside))


def test_brackets_by_hand():
    assert depths(list("a(b(c)")) == ["0", "alone", "0", "1", "1", "1"]
    assert depths(list(")(")) == ["alone", "alone"]


def test_balanced_rows_vanish_when_pairs_are_erased():
    labels = Counter()
    for example in sample("balanced"):
        row = example.text.replace(" ", "")
        while row != (row := row.replace("()", "").replace("[]", "")):
            pass
        assert example.label == ("broken" if row else "balanced")
        labels[example.label] += 1
    assert 0.4 < labels["broken"] / labels.total() < 0.6


def readings(words):
    """All ways to tag a sentence that the grammar allows, by trying every tag of every word."""
    numbers = {
        "DET": {**dict.fromkeys(grammar.FOR_ONE, "s"), **dict.fromkeys(grammar.FOR_MANY, "p")},
        "PRON": {**dict.fromkeys(grammar.ONE, "s"), **dict.fromkeys(grammar.MANY, "p")},
        "NOUN": {
            **dict.fromkeys(grammar.NOUNS, "s"),
            **dict.fromkeys(grammar.NOUNS.values(), "p"),
        },
        "ADJ": dict.fromkeys(grammar.ADJECTIVES, ""),
        "ADV": dict.fromkeys(grammar.ADVERBS, ""),
        "AUX": dict.fromkeys(grammar.AUXILIARIES, ""),
        "ADP": dict.fromkeys((*grammar.PREPOSITIONS, "like"), ""),
        # A verb's own letter tells whether it takes an object, its number who does it.
        "TAKES": {
            **dict.fromkeys(grammar.WITH_OBJECT, "p"),
            **dict.fromkeys(grammar.WITH_OBJECT.values(), "s"),
        },
        "GOES": {
            **dict.fromkeys(grammar.WITHOUT_OBJECT, "p"),
            **dict.fromkeys(grammar.WITHOUT_OBJECT.values(), "s"),
        },
    }
    numbers["DET"]["the"] = "b"
    things = "(DETs|DETb) (ADJ )?NOUNs |(DETp|DETb) (ADJ )?NOUNp "
    one, many = "(PRONs |(DETs|DETb) (ADJ )?NOUNs )", "(PRONp |(DETp|DETb) (ADJ )?NOUNp )"
    place = f"ADP ({things})"
    object_ = f"({things})({place})?"
    sentence = re.compile(
        f"({one}(AUX TAKESp|TAKESs) |{many}(AUX )?TAKESp ){object_}"
        f"|({one}(AUX GOESp|GOESs) |{many}(AUX )?GOESp )(ADV |{place})"
    )
    choices = [
        [(tag, forms[word]) for tag, forms in numbers.items() if word in forms] for word in words
    ]
    for tags in itertools.product(*choices):
        if sentence.fullmatch("".join(f"{tag}{number} " for tag, number in tags)):
            yield tuple("VERB" if tag in ("TAKES", "GOES") else tag for tag, _ in tags)


def test_a_sentence_of_parts_has_one_reading_and_it_is_the_answer():
    for example in sample("parts"):
        assert set(readings(example.words)) == {example.tags}


def test_words_of_parts_change_their_tag():
    tags = {}
    for example in sample("parts", 600):
        for word, tag in zip(example.words, example.tags, strict=True):
            tags.setdefault(word, set()).add(tag)
    assert tags["light"] == {"NOUN", "VERB", "ADJ"}
    assert tags["can"] == {"NOUN", "AUX"}
    assert tags["like"] == {"VERB", "ADP"}
    assert tags["fast"] == {"ADJ", "ADV"}
    assert tags["lights"] == {"NOUN", "VERB"}


GOOD = (
    "good great lovely charming wonderful delightful brilliant loved liked enjoyed love like enjoy"
)
BAD = (
    "bad awful horrible dull terrible boring dreadful hated disliked regretted hate dislike regret"
)


def feeling(text):
    """The last clause decides; each negation in it turns the verdict around."""
    words = text.split(" but in the end ")[-1].split()
    verdicts = [word in GOOD.split() for word in words if word in (GOOD + " " + BAD).split()]
    turns = sum(word in ("not", "never", "far", "anything", "nobody") for word in words)
    assert len(verdicts) == 1
    return "positive" if verdicts[0] == (turns % 2 == 0) else "negative"


def test_feelings_follow_the_last_clause_and_its_negations():
    labels = Counter()
    for example in sample("feelings"):
        assert example.label == feeling(example.text)
        labels[example.label] += 1
    assert 0.4 < labels["positive"] / labels.total() < 0.6


def test_feelings_cannot_be_counted():
    """Good words minus bad words is no better than a coin."""
    right = total = 0
    for example in sample("feelings"):
        words = example.text.split()
        balance = sum((w in GOOD.split()) - (w in BAD.split()) for w in words)
        right += (balance > 0) == (example.label == "positive")
        total += 1
    assert 0.4 < right / total < 0.6


def test_the_answer_of_a_story_is_in_the_story():
    for example in sample("stories"):
        told, asked = example.text.removesuffix(" .").rsplit(" ? ", 1)
        *sentences, query = told.split(" . ")
        thing = query.split()[-1]
        place = next(i for i, s in enumerate(sentences) if s.endswith(f" {thing}"))
        owner = sentences[place].split()[0]
        where = sentences[place + 1].split(" it ", 1)[1]
        assert asked == (where if query.startswith("where") else f"{owner} knows")
        assert sum(thing in sentence.split() for sentence in sentences) == 1


@pytest.mark.parametrize("name", ["before", "copy", "reverse"])
def test_a_length_can_be_chosen_beyond_training(name):
    one = toy(name)
    found = list(one.examples_of(37, 9))
    assert len(set(found)) == 9
    for example in found:
        assert split_of(example.content) == "test"
        words = example.words if isinstance(example, Tagged) else example.source.split()
        assert len(words) == 37
    assert list(one.examples_of(37, 9)) == found
    with pytest.raises(UsageError, match="cannot be chosen"):
        toy("parts").examples_of(3, 1)


def test_before_is_the_letter_before():
    for example in sample("before"):
        assert example.tags[0] == "first"
        assert example.tags[1:] == example.words[:-1]
        assert 2 <= len(example.words) <= 20


def test_persian_lines_know_every_word_of_the_shipped_sentences_and_none_of_the_sentences():
    shipped = {text for texts in SENSES["شیر"].values() for text in texts}
    lines = {one.text for one in drawn("persian", "train", 1500)}
    words = {word.strip(".") for line in lines for word in line.split()}
    assert shipped.isdisjoint(lines)
    assert {word.strip(".") for text in shipped for word in text.split()} <= words
    assert not any(sign in line for line in lines for sign in "{}~^")
