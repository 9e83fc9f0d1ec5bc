"""Pictures from anywhere: the right dots, or an error that says what, where and what to do."""

import base64
import io
import json
import struct
from random import Random

import numpy as np
import pytest
from PIL import Image as PIL
from rich.console import Console

from regard.data import png
from regard.data.example import Captioned
from regard.data.formats.format import PICTURES
from regard.data.image import (
    MOST_PIXELS,
    PictureForm,
    PictureSettings,
    question_of,
    read,
    resized,
    source_of,
)
from regard.data.source import understand
from regard.data.tally import Tally
from regard.data.toys.drawings import painted, scene
from regard.errors import DataError, RegardError, UsageError
from regard.question import Image as Asked
from regard.question import Question
from regard.show.thumbnail import Thumbnail

SCENE = painted(scene(Random(7)))


def saved(image, form: str, **how) -> bytes:
    written = io.BytesIO()
    image.save(written, form, **how)
    return written.getvalue()


def file(tmp_path, data: bytes, name: str = "a.png") -> str:
    path = tmp_path / name
    path.write_bytes(data)
    return str(path)


def of(dots: np.ndarray, mode: str):
    return PIL.fromarray(dots).convert(mode)


@pytest.mark.parametrize("form", ["PNG", "BMP", "PPM", "WEBP", "GIF"])
def test_what_loses_nothing_gives_every_dot(form, tmp_path):
    how = {"lossless": True} if form == "WEBP" else {}
    assert np.array_equal(read(file(tmp_path, saved(of(SCENE, "RGB"), form, **how))), SCENE)


def test_a_photograph_is_near(tmp_path):
    found = read(
        file(tmp_path, saved(of(SCENE, "RGB"), "JPEG", quality=95, subsampling=0), "a.jpg")
    )
    assert found.shape == SCENE.shape
    assert np.abs(found.astype(int) - SCENE).mean() < 4


def test_one_pixel_is_a_picture(tmp_path):
    one = np.array([[[7, 80, 200]]], np.uint8)
    found = read(file(tmp_path, saved(of(one, "RGB"), "PNG")))
    assert np.array_equal(found, one)
    form = PictureForm.of([found], PictureSettings(height=16))
    assert (form.prepared(found) == one).all()
    assert form.frames(found).shape == (16, 16 * 3)


def test_ink_of_printers_becomes_light(tmp_path):
    """Of cyan, magenta, yellow and black: no cyan is all red."""
    red = PIL.new("CMYK", (9, 5), (0, 255, 255, 0))
    found = read(file(tmp_path, saved(red, "JPEG", quality=95), "a.jpg"))
    assert found.shape == (5, 9, 3)
    assert np.abs(found.astype(int) - (254, 0, 0)).max() < 12


@pytest.mark.parametrize("top", [65535, 257 * 100, 257, 200])
def test_16_bits_are_divided_by_what_white_is(tmp_path, top):
    wide = np.array([[0, top // 2, top]], np.uint16)
    found = read(file(tmp_path, saved(PIL.fromarray(wide), "PNG")))
    assert found.shape == (1, 3, 1)
    assert np.abs(found[0, :, 0] - wide[0] / 257).max() <= 0.5


def test_what_is_transparent_lies_on_white_and_a_camera_on_its_side_is_turned(tmp_path):
    clear = np.zeros((2, 3, 4), np.uint8)
    clear[0, 0] = (255, 0, 0, 255)
    found = read(file(tmp_path, saved(PIL.fromarray(clear), "PNG")))
    assert found[0, 0].tolist() == [255, 0, 0]
    assert (found[1] == 255).all()
    turned = PIL.fromarray(SCENE[:20])
    exif = turned.getexif()
    exif[0x0112] = 6  # the camera was turned: 90 degrees clockwise makes it upright
    found = read(file(tmp_path, saved(turned, "PNG", exif=exif), "b.png"))
    assert np.array_equal(found, np.rot90(SCENE[:20], -1))


def test_palettes_and_two_colours(tmp_path):
    found = read(file(tmp_path, saved(of(SCENE, "P"), "PNG")))
    assert found.shape == SCENE.shape
    bits = read(file(tmp_path, saved(of(SCENE, "1"), "PNG"), "b.png"))
    assert bits.shape[2] == 1
    assert set(np.unique(bits)) <= {0, 255}


def test_a_moving_picture_is_its_first_and_a_clear_colour_of_a_palette_is_white(tmp_path):
    frames = [PIL.new("RGB", (20, 10), colour) for colour in ("red", "blue")]
    moving = saved(frames[0], "GIF", save_all=True, append_images=frames[1:], duration=9)
    assert (read(file(tmp_path, moving, "a.gif")) == (255, 0, 0)).all()
    drawn = PIL.new("P", (4, 4), 0)
    drawn.putpalette([0, 0, 0, 255, 0, 0])
    drawn.putpixel((1, 2), 1)
    found = read(file(tmp_path, saved(drawn, "PNG", transparency=0), "b.png"))
    assert found[0, 0].tolist() == [255, 255, 255]
    assert found[2, 1].tolist() == [255, 0, 0]


@pytest.mark.parametrize(
    ("form", "mark", "size"),
    [
        ("JPEG", (b"\xff\xc0", 5), struct.pack(">HH", 65_000, 65_000)),
        ("GIF", (b"GIF", 6), struct.pack("<HH", 60_000, 60_000)),
        ("BMP", (b"BM", 18), struct.pack("<ii", 10**6, -(10**6))),
    ],
)
def test_a_small_file_that_says_it_is_huge_is_refused(tmp_path, form, mark, size):
    data = bytearray(saved(of(SCENE, "RGB"), form))
    place = data.index(mark[0]) + mark[1]
    data[place : place + len(size)] = size
    with pytest.raises(DataError, match=f"over {MOST_PIXELS:,} pixels") as told:
        read(file(tmp_path, bytes(data), "huge"))
    assert told.value.remedy


def test_features_hold_no_objects_and_a_folder_is_no_picture(tmp_path):
    np.savez(tmp_path / "a.npz", features=np.array([{"run": "me"}], dtype=object))
    with pytest.raises(DataError, match="Object arrays cannot be loaded"):
        read(str(tmp_path / "a.npz"))
    with pytest.raises(DataError, match="this is a folder, and one picture is asked about"):
        read(str(tmp_path))


def test_names_with_a_new_line_and_several_captions_in_one_object(tmp_path):
    file(tmp_path, png.encode(SCENE), "a\nb ü.png")
    lines = [
        {"file": "a\nb ü.png", "text": ["one", "", "two"]},
        {"file": "a\nb ü.png", "text": ""},
        {"file": "a\nb ü.png"},
    ]
    table = tmp_path / "all.jsonl"
    table.write_text("".join(json.dumps(line) + "\n" for line in lines))
    tally = Tally()
    (found,) = understand([table], Captioned).examples(tally)
    assert found.texts == ("one", "two")
    assert np.array_equal(read(found.picture), SCENE)
    assert tally.dropped == {"empty": 1, "missing field": 1}


def damaged(data: bytes, generator: Random) -> bytes:
    """Some bytes changed, a piece cut out, or the end missing."""
    changed = bytearray(data)
    match generator.randrange(3):
        case 0:
            for _ in range(generator.randint(1, 8)):
                changed[generator.randrange(len(changed))] = generator.randrange(256)
        case 1:
            start = generator.randrange(len(changed))
            del changed[start : start + generator.randint(1, 40)]
        case _:
            del changed[generator.randrange(len(changed)) :]
    return bytes(changed)


@pytest.mark.parametrize("form", ["PNG", "JPEG", "WEBP", "BMP", "GIF", "PPM", "ours"])
def test_a_damaged_file_is_a_picture_or_a_clear_error(form):
    data = png.encode(SCENE) if form == "ours" else saved(of(SCENE, "RGB"), form)
    generator, refused = Random(form), 0
    for _ in range(150):
        wounded = damaged(data, generator)
        url = f"data:image/x;base64,{base64.b64encode(wounded).decode()}"
        try:
            found = read(url)
        except DataError as fault:
            refused += all((fault.what, fault.where, fault.remedy))
        else:
            assert found.dtype == np.uint8
            assert found.ndim == 3
            assert 0 not in found.shape
    assert refused > 10


def test_a_jpeg_that_ends_too_early_is_refused_by_name(tmp_path):
    whole = saved(of(SCENE, "RGB"), "JPEG")
    path = file(tmp_path, whole[: len(whole) // 2], "half.jpg")
    with pytest.raises(DataError, match=r"this picture cannot be read: .*[Tt]runcated") as told:
        read(path)
    assert "half.jpg" in told.value.where


@pytest.mark.parametrize("data", [b"", b"GIF89a", b"<svg/>", b"%PDF-1.4", b"\x00" * 999])
def test_what_is_no_picture_says_which_kinds_are(tmp_path, data):
    with pytest.raises(DataError, match="this picture cannot be read"):
        read(file(tmp_path, data))


def test_a_bomb_is_refused_before_it_is_unpacked():
    head = struct.pack(">IIBBBBB", 60_000, 60_000, 8, 0, 0, 0, 0)
    start = (
        png.SIGNATURE
        + png._chunk(b"IHDR", head)
        + png._chunk(b"IDAT", b"")
        + png._chunk(b"IEND", b"")
    )
    with pytest.raises(DataError, match=f"over {MOST_PIXELS:,} pixels"):
        read("data:image/png;base64," + base64.b64encode(start).decode())


def test_files_that_are_not_there_and_things_that_are_none(tmp_path):
    for origin in ("nowhere.png", str(tmp_path), "data:image/png;base64,@@@", "a\0b.png"):
        with pytest.raises((RegardError, FileNotFoundError)) as told:
            read(origin)
        assert told.value.remedy
    for wrong in (3.0, np.zeros((2, 2, 5), np.uint8), [[1, 2], [3]], np.zeros((0, 4), np.uint8)):
        with pytest.raises((UsageError, DataError)):
            read(wrong)


def test_a_table_counts_the_pictures_that_are_missing(tmp_path):
    for name in ("one.png", "two.png", "three.png"):
        file(tmp_path, png.encode(SCENE), name)
    table = tmp_path / "all.tsv"
    lines = ["one.png\ta scene", "gone.png\tnobody", "two.png\tanother", "three.png\t"]
    table.write_text("\n".join(lines) + "\n")
    tally = Tally()
    found = understand([table], Captioned).examples(tally)
    assert [example.texts[0] for example in found] == ["a scene", "another"]
    assert tally.dropped == {"no such picture": 1, "empty": 1}


def test_a_question_is_a_path_a_url_or_an_array():
    assert np.array_equal(read(question_of(SCENE)), SCENE)
    for question in (
        Question({"source": Asked("cat.png")}),
        json.dumps({"image": "cat.png"}),
        "cat.png",
    ):
        assert source_of(question) == "cat.png"


def test_a_smaller_picture_is_the_mean_of_what_lies_under_each_dot():
    board = np.zeros((8, 8, 1), np.uint8)
    board[::2, ::2] = board[1::2, 1::2] = 200
    small = resized(board, 2, 2)
    assert np.abs(small.astype(int) - 100).max() <= 8
    assert resized(np.full((5, 7, 3), 9, np.uint8), 13, 3).tolist() == [[[9] * 3] * 3] * 13


def test_a_preview_has_its_dots_and_its_size_and_says_why_it_has_none(tmp_path):
    def shown(origin: str, **how) -> str:
        console = Console(file=io.StringIO(), width=60, **how)
        console.print(Thumbnail(origin))
        return console.file.getvalue()

    colours = {"force_terminal": True, "color_system": "truecolor"}
    dots = np.arange(4 * 6 * 3, dtype=np.uint8).reshape(4, 6, 3) * 3
    drawn = shown(png.url(dots), **colours)
    assert drawn.count("▀") == 2 * 6
    assert "38;2;0;3;6;48;2;54;57;60" in drawn  # the first dot over the one below it
    assert "6 x 4 pixels, in colour" in drawn
    plain = shown(png.url(dots[..., :1]), color_system=None)
    assert "▀" not in plain
    assert "6 x 4 pixels, grey" in plain
    assert "cannot be read" in shown(file(tmp_path, b"no", "no.png"), **colours)


def test_every_suffix_that_a_table_may_name_is_one_that_can_be_read():
    known = {
        f".{one.lower()}" for one in ("png", "jpeg", "jpg", "webp", "bmp", "gif", "ppm", "pgm")
    }
    assert set(PICTURES) - known <= {".npz", ".pbm", ".pnm"}
