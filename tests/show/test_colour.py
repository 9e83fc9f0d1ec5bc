import io

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.color import Color
from rich.console import Console

from regard.show.colour import ASCII, BLOCKS, EIGHT_BIT, Paint, cividis

unhurried = settings(deadline=None)
SHARES = st.floats(0, 1)
# How red, green and blue light is seen without green cones (Machado, Oliveira and Fernandes 2009).
DEUTERANOPIA = np.array(
    [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ]
)


def light(colour):
    """Linear light of sRGB."""
    share = np.array(colour) / 255
    return np.where(share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4)


def lightness(linear):
    """CIE L*, 0 to 100."""
    luminance = float(linear @ [0.2126, 0.7152, 0.0722])
    return 116 * np.cbrt(luminance) - 16


def paint_of(environment=None, encoding="utf-8", **more):
    file = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    console = Console(file=file, legacy_windows=False, _environ=environment or {}, **more)
    return Paint.of(console, console.options)


def test_colours_go_from_navy_to_yellow_in_even_steps_of_lightness():
    steps = [lightness(light(cividis(share))) for share in np.linspace(0, 1, 33)]
    assert cividis(0.0) == (0x00, 0x22, 0x4E)
    assert cividis(1.0) == (0xFE, 0xE8, 0x38)
    differences = np.diff(steps)
    assert differences.min() > 0.8 * differences.mean()
    assert differences.max() < 1.25 * differences.mean()


def test_the_order_is_seen_without_green_cones():
    seen = [np.clip(DEUTERANOPIA @ light(cividis(share)), 0, 1) for share in np.linspace(0, 1, 65)]
    assert (np.diff([lightness(colour) for colour in seen]) > 0).all()


def test_the_256_colours_are_in_the_order_of_lightness():
    colours = [Color.from_ansi(code).get_truecolor() for code in EIGHT_BIT]
    assert (np.diff([lightness(light(tuple(colour))) for colour in colours]) > 4).all()


@given(SHARES, SHARES)
@unhurried
def test_more_weight_is_never_darker_nor_less_ink(one, other):
    low, high = sorted((one, other))
    for medium in ("true colour", "256 colours"):
        found = [Paint(medium).cell(share, 2)[1].bgcolor.get_truecolor() for share in (low, high)]
        dark, bright = (lightness(light(tuple(colour))) for colour in found)
        assert dark <= bright
    for medium, ramp in (("blocks", BLOCKS), ("ascii", ASCII)):
        faint, strong = (ramp.index(Paint(medium).cell(share, 1)[0]) for share in (low, high))
        assert faint <= strong


@pytest.mark.parametrize("medium", ["true colour", "256 colours"])
def test_numbers_stand_out_from_their_square(medium):
    for share in np.linspace(0, 1, 33):
        _, style = Paint(medium).cell(float(share), 6, "0.50")
        text, square = (
            float(light(tuple(colour.get_truecolor())) @ [0.2126, 0.7152, 0.0722])
            for colour in (style.color, style.bgcolor)
        )
        contrast = (max(text, square) + 0.05) / (min(text, square) + 0.05)
        assert contrast > 4.5  # as WCAG asks of text


def test_what_is_not_a_number_is_a_question():
    assert Paint("true colour").cell(float("nan"), 3) == (" ? ", None)


def test_the_medium_is_what_the_console_can_show():
    assert paint_of(force_terminal=True, color_system="truecolor").medium == "true colour"
    assert paint_of(force_terminal=True, color_system="256").medium == "256 colours"
    assert paint_of(force_terminal=True, color_system="standard").medium == "blocks"
    assert paint_of().medium == "blocks"
    assert paint_of({"TERM": "dumb"}, force_terminal=True).medium == "blocks"
    no_colour = paint_of({"NO_COLOR": "1"}, force_terminal=True, color_system="truecolor")
    assert no_colour.medium == "blocks"
    assert paint_of(encoding="ascii", color_system="truecolor").medium == "ascii"
