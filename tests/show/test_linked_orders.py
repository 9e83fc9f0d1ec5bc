"""Word orders by a model's own attention."""

import regard
from regard.show.orders import order_of


def test_words_are_linked_to_what_the_model_looked_at_most():
    """By a translator's own weights; its tag and its end sign are nobody's words."""
    seen = regard.trace(regard.load("translator"), "The black cat ate the mouse.", to="fr")
    source, order = order_of(seen, "fr")
    assert source == ("The", "black", "cat", "ate", "the", "mouse", ".")
    site, weights = seen.site(), seen.alignment()
    rows, columns = seen.axes[site.queries].words, seen.axes[site.keys].words
    for word, chosen in zip(order.words, order.sources, strict=True):
        row = dict(zip(columns, weights[rows.index(word)], strict=True))
        assert source[chosen] == max(source, key=lambda one: row[one])
    assert order.sources[1:3] == (2, 1), "chat noir"
