"""L89, L106: one sentence in many languages, and which words change places."""

import pytest

from regard.errors import UsageError
from regard.show.orders import lines_of, orders_figure
from regard.worked import word_orders
from regard.worked.word_orders import ENGLISH, LINKS, TRANSLATIONS, Order, hand_drawn


def test_black_cat_is_inverted_and_ate_held_for_two_words():  # L89
    worked = word_orders()
    french = worked["French"]
    assert french[1:3] == (3, 2), "chat noir: cat, then black"
    assert french[3:5] == (4, 4), "a mangé: both from ate"
    assert worked["German"][-1] == 4, "the verb's second half goes to the end"


def test_crossings_by_a_plain_loop():  # L106
    worked = word_orders()
    for order, counted in zip(
        hand_drawn(ENGLISH, TRANSLATIONS, LINKS), worked["crossings"], strict=True
    ):
        crossed = 0
        for place, number in enumerate(LINKS[order.language]):
            for later in LINKS[order.language][place + 1 :]:
                crossed += bool(number and later and later < number)
        assert order.crossings == crossed == counted
    assert worked["crossings"] == (1, 1, 2, 1, 0, 2)


def test_the_order_of_the_source_crosses_nothing_and_its_opposite_all():
    assert Order("same", tuple("abc"), (0, 1, 2)).crossings == 0
    assert Order("turned", tuple("abcd"), (3, 2, 1, 0)).crossings == 6
    assert Order("held", tuple("abc"), (1, 1, None)).crossings == 0


def test_links_that_do_not_fit_are_refused():
    with pytest.raises(UsageError, match="the links of French do not fit"):
        word_orders(translations={"French": ("le",)}, links={"French": (1, 2)})
    with pytest.raises(UsageError, match="the links of French do not fit"):
        word_orders(words=("the",), translations={"French": ("le",)}, links={"French": (2,)})


def test_a_line_a_link_from_word_to_word():
    from regard.show.figure import Stroke, Words

    orders = [Order("fr", ("le", "chat"), (0, None)), Order("de", ("Katze", "die"), (1, 0))]
    figure = orders_figure(("the", "cat"), orders, "title", "note")
    strokes = [shape for shape in figure.shapes if isinstance(shape, Stroke)]
    assert len(strokes) == 3
    words = [shape for shape in figure.shapes if isinstance(shape, Words) and shape.text == "the"]
    assert len(words) == 2, "the source stands above each language"
    for stroke in strokes:
        assert stroke.start[1] < stroke.end[1]
    crossed = strokes[1], strokes[2]
    assert (crossed[0].start[0] - crossed[1].start[0]) * (crossed[0].end[0] - crossed[1].end[0]) < 0


def test_numbers_stand_below_their_words():
    shown = list(lines_of(("the", "cat"), [Order("de", ("Katze", "die"), (1, None))]))
    assert shown == [
        "    the cat",
        "    1   2",
        "",
        "de  Katze die",
        "    2     -",
        "    0 crossings",
    ]
