import math
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from regard.data.check import Examined, Report
from regard.data.example import Labelled, Line, Pair, Pointed, Tagged
from regard.evaluate import Comparison, Metric
from regard.show import report
from regard.tasks import Prediction
from regard.training.compare_runs import Row, Table

unhurried = settings(deadline=None)
BLEU = Metric("BLEU", 41.023, "nrefs:1|case:lc", (40.12, 41.9))


def row(name, value, seconds=61.0):
    return Row(name, 31_000, 500, 0.25, (Metric("exact match", value, "n:5").as_dict(),), seconds)


def test_data_is_shown_row_by_row_with_what_to_think_about(printed):
    found = Report(
        (Examined("train", "3 pairs from a.en and a.de", 3, {}),),
        (Pair("a [bold]cat", "ein\x1b[0m Kater"), Pair("", "leer"), Pair("שלום", "Hallo")),
        ["1 pair repeated word for word: a.en:2 = a.en:1"],
    )
    assert [line.rstrip() for line in printed(report.data_report(found)).split("\n")] == [
        "train  3 pairs from a.en and a.de",
        "",
        "1  a [bold]cat",
        "   ein␛[0m Kater",
        "2",
        "   leer",
        "3  \u2068שלום\u2069",
        "   Hallo",
        "",
        "warning  1 pair repeated word for word: a.en:2 = a.en:1",
        "",
    ]


@pytest.mark.parametrize(
    ("example", "lines"),
    [
        (Labelled("fine", "good"), ["1  fine", "   good"]),
        (Tagged(("a", "b"), ("X", "Y")), ["1  a/X b/Y"]),
        (Pointed(((0.5, 1.0), (0.0, 2.0)), (1, 0)), ["1  0.5,1 0,2", "   1 0"]),
        (Line("words"), ["1  words"]),
    ],
)
def test_every_kind_of_example_has_its_lines(printed, example, lines):
    shown = printed(report.data_report(Report((), (example,), [])))
    assert [line.rstrip() for line in shown.split("\n") if line.strip()] == lines


def test_a_metric_keeps_its_interval_and_its_signature(printed):
    undefined = Metric("chrF2", math.nan, "nc:6")
    shown = printed(report.metric_table([BLEU, undefined], "test2016"))
    lines = [line.rstrip() for line in shown.split("\n")]
    assert lines[0] == "test2016"
    assert lines[1].split() == ["score", "95%", "interval"]
    assert lines[2].split() == ["BLEU", "41.02", "40.1", "to", "41.9"]
    assert lines[3].split() == ["chrF2", "undefined"]
    assert lines[-3:] == ["BLEU: nrefs:1|case:lc", "chrF2: nc:6", ""]


def test_a_comparison_has_a_row_a_model_and_the_best_in_bold(printed):
    rows = (row("additive", 99.0), row("dot", 91.5), Row("location", fault="it diverged"))
    table = Table("test examples of reverse", 500, "additive", rows, {})
    picture = report.comparison_table(table)
    lines = printed(picture, width=100).split("\n")
    assert "★  additive      31,000   500    0.2500  99.00  61 s" in lines[2]
    assert lines[3].split() == ["dot", "31,000", "500", "0.2500", "91.50", "61", "s"]
    assert "location: it diverged" in "\n".join(lines)
    bold = [line for line in printed(picture, colour="truecolor").split("\n") if "\x1b[1m" in line]
    assert len(bold) == 1
    assert "additive" in bold[0]


def test_a_narrow_comparison_loses_no_number(printed):
    rows = (row("bahdanau2015 additive", 99.0), row("luong2015-general", 91.5))
    shown = printed(report.comparison_table(Table("t", 5, rows[0].name, rows, {})), width=50)
    assert all(number in shown for number in ("31,000", "0.2500", "99.00", "91.50"))
    assert all(cell_len(line) <= 50 for line in shown.split("\n"))


def test_a_comparison_in_80_columns_breaks_no_word(printed):
    metrics = tuple(
        {**row("x", 5.0).metrics[0], "name": name} for name in ("BLEU", "chrF2", "exact match")
    )
    rows = tuple(
        replace(row(name, 0.0), metrics=metrics) for name in ("score-dot", "score-additive")
    )
    table = Table("t", 5, rows[0].name, rows, {"score-additive": 0.5})
    words = printed(report.comparison_table(table), width=80).split()
    assert {"parameters", "held-out", "score-dot", "score-additive"} <= set(words)


def test_a_verdict_says_whether_it_may_be_luck(printed):
    better = Metric("BLEU", 42.523, "nrefs:1|case:lc")
    sure = Comparison(BLEU, better, 0.0131, "bootstrap")
    shown = printed(report.verdict(sure, ("runs/rnn", "runs/big")))
    assert "difference  +1.50" in shown
    assert "more than luck: p = 0.0131, paired bootstrap" in shown
    unsure = Comparison(BLEU, better, 0.2, "randomisation")
    assert "it may be luck: p = 0.2000" in printed(report.verdict(unsure, ("a", "b")))


def test_an_answer_shows_how_sure_each_symbol_was(printed):
    found = Prediction(
        "le chaton",
        -0.7,
        ("▁le", "▁chat", "on"),
        (4, 5, 6),
        (0.0, math.log(0.5), math.log(0.25), 0.0),
        "length",
        (("le chaton", -0.7), ("le chat", -0.9)),
    )
    lines = [line.rstrip() for line in printed(report.answer(found)).split("\n")]
    assert lines[0] == "le chaton"
    assert lines[1] == "cut off at the greatest length"
    assert [line.split() for line in lines[4:8]] == [
        ["le", "1.000", "█" * 10],
        ["chat", "0.500", "█" * 5],
        ["·on", "0.250", "██▌"],
        ["(end)", "1.000", "█" * 10],
    ]
    assert [line.split() for line in lines[-3:-1]] == [
        ["-0.700", "le", "chaton"],
        ["-0.900", "le", "chat"],
    ]


@given(st.floats(0, 1), st.floats(0, 1))
@unhurried
def test_a_bar_is_as_long_as_its_share(one, other):
    low, high = sorted((one, other))
    assert len(report.bar(low, 10)) <= len(report.bar(high, 10)) <= 10
    assert report.bar(0.5, 10) == "█████"
    assert report.bar(math.nan, 10) == ""


def test_a_long_title_stays_on_one_line(printed):
    title = "1,000 test examples of a-long-name.test.en, a-long-name.test.de"
    assert printed(report.metric_table([BLEU], title)).split("\n")[0].rstrip() == title
