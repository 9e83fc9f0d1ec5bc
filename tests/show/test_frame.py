from hypothesis import example, given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from regard.show.label import (
    END_ISOLATE,
    ISOLATE,
    MOST_STAIRS,
    NARROW,
    NUMBERED,
    SQUARE,
    TALLEST,
    Frame,
    letters,
    one_line,
)

unhurried = settings(deadline=None)
LABELS = st.text(st.characters(codec="utf-8"), max_size=9)


def heading(frame, band):
    """The heading as lists with one entry a cell: a letter, or "" for the second half of a wide one."""
    lines = []
    for parts in frame.heading(band):
        text = "".join(text for text, _ in parts)
        cells = []
        for letter in letters(text.replace(ISOLATE, "").replace(END_ISOLATE, "")):
            cells += [letter, *[""] * (cell_len(letter) - 1)]
        lines.append(cells)
    return lines


def down(lines, cell):
    """What stands above one cell, from top to bottom, without blanks."""
    return [line[cell] for line in lines if cell < len(line) and line[cell] != " "]


def starts(label):
    return bool(one_line(label)) and one_line(label)[0] not in " │"


@given(st.lists(st.text(st.characters(codec="utf-8"), min_size=1, max_size=9), max_size=7))
@unhurried
@example(["a b", "שלום", "日本", "x\u0301\u0302\u0303y"])
def test_a_line_leads_from_each_column_up_to_its_label(columns):
    columns = [label for label in columns if starts(label)] or ["one"]
    frame = Frame.fitting(("row",), tuple(columns), 120, numbers=False)
    lines = heading(frame, range(len(columns)))
    for place, label in enumerate(frame.columns):
        upward = [line[frame.margin + place * frame.cell :][:1] for line in reversed(lines)]
        first = next(found for found in upward if found != ["│"])
        assert first == letters(label)[:1]
    assert len(lines) <= len(columns)


@given(st.lists(LABELS, min_size=MOST_STAIRS + 1, max_size=40))
@settings(max_examples=25, deadline=None)
def test_a_standing_label_is_read_down_its_column(columns):
    columns = [f"long{label}" for label in columns]  # too long to lie
    frame = Frame.fitting(("row",), tuple(columns), 100, numbers=False)
    lines = heading(frame, range(len(columns)))
    for place, label in enumerate(frame.columns):
        stacked = [letter for letter in letters(label) if letter != " "]
        above = down(lines, frame.margin + place * frame.cell)
        if len(letters(label)) <= TALLEST:
            assert above == stacked
        else:
            assert above[-1] == "⋮"
            assert above[:-1] == stacked[: len(above) - 1]


@given(
    st.lists(LABELS, max_size=5),
    st.lists(LABELS, min_size=1, max_size=50),
    st.integers(8, 120),
    st.booleans(),
)
@unhurried
def test_everything_fits_the_width_and_no_column_is_lost(rows, columns, width, numbers):
    frame = Frame.fitting(tuple(rows), tuple(columns), width, numbers)
    assert [column for band in frame.bands for column in band] == list(range(len(columns)))
    for band in frame.bands:
        assert frame.margin + len(band) * frame.cell <= width
        for parts in frame.heading(band):
            assert cell_len("".join(text for text, _ in parts)) <= width


def test_squares_are_as_wide_as_there_is_room_for():
    names = tuple("abcdefghij")
    assert Frame.fitting(("r",), names, 80, numbers=True).cell == NUMBERED
    assert Frame.fitting(("r",), names, 40, numbers=True).cell == SQUARE
    assert Frame.fitting(("r",), names, 22, numbers=False).cell == SQUARE
    assert Frame.fitting(("r",), names, 21, numbers=False).cell == NARROW
    assert Frame.fitting(("r",), ("abc", "de"), 80, numbers=False).cell == 4
    wide = Frame.fitting(("r",), tuple("日本語日本語日本語日"), 21, numbers=False)
    assert wide.cell == SQUARE
    assert len(wide.bands) == 2


def test_short_labels_share_a_line_and_long_ones_hang_above():
    frame = Frame.fitting(("r",), ("a", "b", "cat", "d", "</s>"), 80, numbers=False)
    lines = ["".join(text for text, _ in parts) for parts in frame.heading(range(5))]
    assert lines == ["      cat", "  a b │ d </s>"]
