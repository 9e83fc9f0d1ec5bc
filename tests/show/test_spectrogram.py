"""A sound along the side of a map: every weight and every frame is where its moment is."""

import numpy as np
import pytest
from rich.console import Console

from regard.data import png
from regard.decode import DecodeSettings
from regard.show import sheet
from regard.show.figure import Box, Dots
from regard.show.heatmap import site_map
from regard.show.spectrogram import heard_at, sound_map, spectrogram
from regard.show.svg_png import written
from regard.tasks.axis import Times
from regard.traces.trace import look_inside
from regard.traces.word_times import word_times
from tests.tasks.kit import EXAMPLES, model_of, task_of


def axis(states=4, frames=8):
    """A sound whose frames grow louder one after the other, the same in both of its bands."""
    loud = np.linspace(0, 255, frames).astype(np.uint8)
    picture = png.url(np.ascontiguousarray(np.stack([loud, loud])[:, :, None]))
    moments = tuple((n + 0.5) / states for n in range(states))
    return Times(moments, until=1.0, spectrogram=picture)


def shown(renderable, width=40):
    console = Console(width=width, color_system=None, legacy_windows=False)
    with console.capture() as captured:
        console.print(renderable)
    return captured.get().splitlines()


def test_the_picture_comes_back_and_is_read_at_its_moments():
    np.testing.assert_allclose(spectrogram(axis())[0], np.linspace(0, 255, 8).astype(int) / 255)
    np.testing.assert_array_equal(heard_at(axis(), 8), spectrogram(axis()))
    np.testing.assert_array_equal(heard_at(axis(), 4), spectrogram(axis())[:, 1::2])
    assert not spectrogram(Times((0.5,), spectrogram="data:image/png;base64,AAAA")).any()


def test_a_map_stands_below_its_sound():
    lines = shown(sound_map(np.eye(3, 4), ("a", "b", "c"), axis(), "a title"))
    assert lines[0] == "a title"
    assert lines[1].startswith("   ")
    assert lines[1].rstrip().endswith("█")
    assert lines[3].split() == ["|0.00", "s"]
    assert [line.rstrip() for line in lines[4:7]] == ["a ██", "b   ██", "c     ██"]


def test_what_is_too_long_is_summed_and_said_to_be():
    weights = np.full((1, 50), 1 / 50)
    lines = shown(sound_map(weights, ("a",), axis(50, 100)), width=27)
    assert lines[-1] == "2 states a column: no room"
    assert lines[-3] == "a " + "▆" * 25  # 0.04 of 0.05, where the legend ends
    assert lines[-2].endswith("0.05")


@pytest.fixture(scope="module")
def seen():
    task, model = task_of("transcribe"), model_of("transcribe")
    question = task.question(EXAMPLES["transcribe"][1])
    return look_inside(task, model, question, DecodeSettings(max_length=7))


def test_look_draws_every_row(seen):
    lines = shown(site_map(seen), width=100)
    for piece in seen.axes["target"].words:
        assert any(line.strip().startswith(piece) for line in lines)
    numbers = shown(site_map(seen, numbers=True), width=200)
    assert any("0.1" in line for line in numbers)


def test_a_figure_has_the_sound_below_its_rows_and_a_bar_for_each_word(seen):
    drawn = sheet.drawing(seen)
    *rows, heard = [one for one in drawn.shapes if isinstance(one, Dots)]
    assert len(rows) == len(seen.axes["target"])
    assert {one.colours.shape[1] for one in rows} == {len(seen.axes["source"])}
    assert all(one.y + one.height <= heard.y for one in rows)
    assert {(one.x, one.width) for one in rows} == {(heard.x, heard.width)}
    bars = [one for one in drawn.shapes if isinstance(one, Box) and " s" in one.told[-2:]]
    assert [bar.told.split(":")[0] for bar in bars] == seen.answer.text.split()
    for bar, word in zip(bars, word_times(seen), strict=True):
        share = word.begin / seen.axes["source"].until
        assert bar.x == pytest.approx(heard.x + share * heard.width)
    assert "<image" in written(drawn)
