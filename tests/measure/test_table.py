import json

import pytest

from regard.measure import Bytes, Ratio, Seconds, Share, Table


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (Seconds(1.25e-3), "1.25 ms"),
        (Seconds(2), "2.00 s"),
        (Seconds(0.9999), "1,000 ms"),
        (Seconds(12.34e-6), "12.3 µs"),
        (Seconds(5e-9), "5.00 ns"),
        (Bytes(3 << 29), "1.50 GiB"),
        (Bytes(700), "700 B"),
        (Ratio(1.504), "1.50x"),
        (Share(0.3621), "36.2%"),
    ],
)
def test_a_value_knows_how_it_looks(value, shown):
    assert str(value) == shown


ROWS = [
    {"way": "ours", "tokens": 7, "time": Seconds(0.5), "times": Ratio(2), "rate": 12345.6},
    {"way": "theirs", "tokens": 1234567, "time": Seconds(1), "times": None, "rate": float("nan")},
]


def test_a_long_note_breaks_between_words():
    words = ["measured"] * 30
    *_, note = str(Table("Speed", ROWS, " ".join(words))).split("\n\n")
    assert note.split() == words
    assert max(map(len, note.split("\n"))) <= 79


def test_a_table_is_markdown_that_lines_up():
    assert str(Table("Speed", ROWS, "two tries")) == (
        "### Speed\n"
        "\n"
        "| way    |    tokens |   time | times |   rate |\n"
        "|--------|----------:|-------:|------:|-------:|\n"
        "| ours   |         7 | 500 ms | 2.00x | 12,300 |\n"
        "| theirs | 1,234,567 | 1.00 s |     - |      - |\n"
        "\n"
        "two tries\n"
    )


def test_a_table_is_json_without_nan():
    told = json.loads(json.dumps(Table("Speed", ROWS).as_dict(), allow_nan=False))
    assert told["columns"] == ["way", "tokens", "time", "times", "rate"]
    assert told["rows"][0] == {
        "way": "ours",
        "tokens": 7,
        "time": 0.5,
        "times": 2.0,
        "rate": 12345.6,
    }
    assert told["rows"][1]["rate"] is None


def test_a_row_may_lack_a_column():
    table = Table("Peers", [{"way": "ours"}, {"way": "theirs", "memory": 3}])
    assert table.columns == ("way", "memory")
    assert "| ours   |      - |" in str(table)


def test_nothing_measured_is_no_table_but_no_fault():
    assert str(Table("Nothing", [])).startswith("### Nothing")
