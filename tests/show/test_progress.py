import io
import json
import math
import re
from contextlib import suppress
from dataclasses import replace

from rich.console import Console

from regard.evaluate import Metric
from regard.show.training_progress import JsonProgress, TrainingProgress
from regard.training import train
from regard.training.events import Evaluated, Outcome, Stepped

FACTS = {
    "step": 0,
    "steps": 30,
    "parameters": 1_234,
    "examples": 40,
    "skipped": 2,
    "waste": 0.0317,
    "shapes": 1,
    "device": "cpu",
    "world": 1,
    "batches_a_step": 1,
}
SCORES = (Metric("BLEU", 41.26, "a signature"), Metric("chrF2", 60.0, "another"))


def tell(listener, run, seen, facts=FACTS):
    """A short training, from beginning to end."""
    listener.preparing("reading train data", 1_024)
    listener.preparing("reading train data", 2_048)
    listener.began(run, facts)
    listener.noted("resumed\x1b[2J at step 0")
    for step in range(1, 31):
        listener.stepped(Stepped(step, 0, 6.0 / step, 0.001, 1.0, 900.0, 2.0 * step))
        if step % 10 == 0:
            report = Evaluated(step, 0, 3.0 / step, 2.0, SCORES, is_best=step <= 20)
            listener.evaluated(report)
            listener.sampled(step, [seen])
    listener.finished(Outcome(30, "30 steps done", 20, 0.15))


def terminal(width=100, height=40, **more):
    return Console(
        file=io.StringIO(), force_terminal=True, width=width, height=height, _environ={}, **more
    )


def test_a_file_gets_plain_lines(run, seen):
    console = Console(file=io.StringIO(), _environ={})
    tell(TrainingProgress(console, watch_sample=True), run, seen)
    shown = console.file.getvalue()
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f]", shown)
    lines = shown.split("\n")
    assert lines[:3] == [
        "reading train data",
        "task: translate",
        "data: reverse: letters backwards (40 examples, 2 too long and left out)",
    ]
    assert "model: rnn encoder, rnn reader, additive attention, 1,234 parameters" in lines
    assert "batches: up to 256 places each in 1 shape, 3.2% padding" in lines
    assert "note: resumed␛[2J at step 0" in lines
    # A line every 5 seconds: the steps are 2 seconds apart.
    steps = [int(one) for one in re.findall(r"^step (\d+) of 30 ", shown, re.M)]
    assert steps == [*range(1, 30, 3), 30]
    assert "step 20 held out: loss 0.150   BLEU 41.3   chrF2 60.0 (best so far)" in lines
    assert "step 30 held out: loss 0.100   BLEU 41.3   chrF2 60.0" in lines
    assert lines.count("step 30 answers: le chat") == 1
    best = "loss 0.150   BLEU 41.3   chrF2 60.0"
    assert lines[-2] == f"30 steps done; best at step 20: {best}"


def test_nobody_is_shown_a_sentence_unasked(run, seen):
    console = Console(file=io.StringIO(), _environ={})
    tell(TrainingProgress(console), run, seen)
    assert "answers" not in console.file.getvalue()


def test_a_file_gets_answers_of_a_model_without_attention(run, seen):
    console = Console(file=io.StringIO(), _environ={})
    tell(TrainingProgress(console, watch_sample=True), run, replace(seen, sites=()))
    assert "step 30 answers: le chat\n30 steps done" in console.file.getvalue()


def test_a_terminal_gets_a_picture_that_moves_and_its_cursor_back(run, seen):
    console = terminal()
    tell(TrainingProgress(console, watch_sample=True), run, seen)
    shown = console.file.getvalue()
    assert shown.count("\x1b[?25l") == shown.count("\x1b[?25h") == 1
    assert "where it looks" in shown
    assert shown.index("machine") < shown.index("step 1 of 30")
    assert shown.rstrip().endswith("chrF2 60.0")


def test_without_colour_a_terminal_gets_none(run, seen):
    console = terminal(no_color=True)
    tell(TrainingProgress(console, watch_sample=True), run, seen)
    codes = set(re.findall(r"\x1b\[([\d;]*)m", console.file.getvalue()))
    assert codes <= {"0", "1", "2"}


def test_pictures_are_half_a_second_apart(run):
    console = terminal()
    with TrainingProgress(console) as progress:
        progress.began(run, FACTS)
        for step in range(1, 30):
            progress.stepped(Stepped(step, 0, 1.0, 0.001, 1.0, 900.0, 0.125 * step))
    drawn = re.findall(r"step (\d+) of 30", console.file.getvalue())
    assert list(dict.fromkeys(map(int, drawn))) == [0, *range(1, 30, 4)]


def test_the_bar_moves_with_every_step_of_a_slow_model(run):
    """The loss is told every 20 steps; of 5 seconds each, the bar stood still for 100 s without time left."""
    console = terminal()
    with TrainingProgress(console) as progress:
        progress.began(run, FACTS)
        for step in range(1, 8):
            progress.advanced(step, 5.0 * step)
    drawn = re.findall(r"step (\d+) of 30", console.file.getvalue())
    assert list(dict.fromkeys(map(int, drawn))) == [*range(8)]
    assert "1:55 left" in console.file.getvalue()  # 23 more


def test_a_file_of_lines_moves_with_a_slow_model(run):
    console = Console(file=io.StringIO(), _environ={})
    progress = TrainingProgress(console)
    progress.began(run, FACTS)
    for step in range(1, 21):
        progress.advanced(step, 5.0 * step)
    progress.stepped(Stepped(20, 0, 1.0, 0.001, 1.0, 900.0, 100.0))
    lines = [line for line in console.file.getvalue().split("\n") if line.startswith("step ")]
    assert lines[:2] == ["step 6 of 30   2:00 left", "step 12 of 30   1:30 left"]
    assert lines[-1].startswith("step 20 of 30   smoothed loss 1.000")


def test_a_fault_leaves_the_terminal_in_order(run):
    console = terminal()
    with suppress(ZeroDivisionError), TrainingProgress(console) as progress:
        progress.began(run, FACTS)
        raise ZeroDivisionError
    shown = console.file.getvalue()
    assert shown.count("\x1b[?25l") == shown.count("\x1b[?25h") == 1


def test_a_resumed_run_counts_time_from_where_it_went_on(run):
    progress = TrainingProgress(Console(file=io.StringIO(), _environ={}))
    progress.began(run, {**FACTS, "step": 20})
    progress.advanced(21, 2.0)
    progress.stepped(Stepped(25, 0, 1.0, 0.001, 1.0, 900.0, 10.0))
    assert progress.moment.time_left() == "0:10 left"


def test_json_is_an_object_a_line(run, seen):
    file = io.StringIO()
    listener = JsonProgress(file)
    tell(listener, run, seen)
    listener.stepped(Stepped(31, 0, math.nan, 0.001, math.inf, 900.0, 62.0))
    entries = [json.loads(line) for line in file.getvalue().splitlines()]
    kinds = [entry["kind"] for entry in entries]
    assert kinds[:3] == ["preparing", "began", "note"]
    assert kinds.count("preparing") == 1
    assert (kinds.count("train"), kinds.count("valid"), kinds.count("sample")) == (31, 3, 3)
    assert kinds[-2] == "finished"
    assert entries[1]["parameters"] == 1_234
    question, right = run.probes()[0]
    sample = next(entry for entry in entries if entry["kind"] == "sample")
    assert sample["samples"] == [{"question": question, "answer": "le chat", "expected": right}]
    assert (entries[-1]["loss"], entries[-1]["norm"]) == (None, None)


def test_a_real_training_is_told_from_beginning_to_end(run_settings, tmp_path):
    console = Console(file=io.StringIO(), width=70, _environ={})
    with TrainingProgress(console, watch_sample=True) as progress:
        train(tmp_path / "run", run_settings, progress)
    shown = console.file.getvalue()
    assert "\x1b" not in shown
    assert "step 4 of 4" in shown
    assert "step 2 answers: " in shown
    assert "reader.attention: answer down, source across" in shown
    assert "4 steps done; best at step " in shown
