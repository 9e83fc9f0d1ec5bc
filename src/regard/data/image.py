"""From a file, a data URL or an array to the frames of a picture: upright, scaled, and cut to one size.

PNG, JPEG and the other kinds are read by Pillow, an extra; pictures of ours and `.npz` features need none.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, final

import numpy as np
from jaxtyping import Float, UInt8
from pydantic import Field, PositiveInt

from regard.config import Settings
from regard.data import png
from regard.errors import DataError, ModelFileError, UsageError, kind_of, missing
from regard.strict_json import loads

KINDS = ("PNG", "JPEG", "WEBP", "BMP", "GIF", "PPM")  # what Pillow may read of what people send us
MOST_BYTES, MOST_PIXELS = 1 << 27, 50_000_000
LOOKED_AT = 64  # pictures that decide how all are brought to one form
HIGHEST = 128  # rows that all pictures may share and be kept as they are
USUAL = 64  # rows where they do not
RAGGED = 3.0  # widest over narrowest, from which on widths differ too much to be one
STRIP = 2.0  # widths over heights, from which on most pictures are lines of writing
LUMINANCE = np.array([0.299, 0.587, 0.114], np.float32)

# A form changes sizes, so these are others than the sizes of what it is given.
Prepared = (
    UInt8[np.ndarray, "new_row new_column new_channel"]
    | Float[np.ndarray, "new_row new_column new_channel"]
)
Picture = UInt8[np.ndarray, "row column channel"] | Float[np.ndarray, "row column channel"]


class PictureSettings(Settings):
    """How pictures become columns of pixels; what is left open is decided by the first pictures."""

    height: PositiveInt | None = Field(default=None, le=1024)
    """The number of rows of pixels: 16 to 256. By default what all pictures share, up to 128, and else
    64."""
    width: PositiveInt | None = Field(default=None, le=4096)
    """The number of columns of pixels, where all pictures have as many: 16 to 256. The default is the
    height."""
    fit: Literal["auto", "ragged", "crop", "stretch"] = "auto"
    """Whether each picture keeps its width (ragged), as writing needs, or is cropped, as photographs bear,
    or is stretched."""
    longest: PositiveInt = Field(default=512, le=4096)
    """The number of columns of the widest picture, where widths are kept: 64 to 1,024. Wider ones are
    narrowed."""
    colour: Literal["auto", "grey", "rgb"] = "auto"
    """Whether pictures have one channel or three. By default one, where no picture has colours."""
    invert: Literal["auto", "yes", "no"] = "auto"
    """Whether pixels are inverted, so that dark ink on light paper becomes light on 0. By default grey
    pictures with a light edge are."""


@final
@dataclass(frozen=True)
class PictureForm:
    """The form that every picture of a model has: so many rows, columns (0: each its own) and channels."""

    rows: int
    columns: int = 0
    channels: int = 1
    longest: int = 512
    crop: bool = True
    invert: bool = False
    features: bool = False  # numbers that another network made, taken as they are

    @classmethod
    def of(cls, pictures: Iterable[Picture], settings: PictureSettings) -> PictureForm:
        """What the first pictures decide, where the settings leave it open."""
        some = list(pictures)
        if not some:
            raise DataError("there is not one picture here", "data.train", "name some pictures")
        if some[0].dtype != np.uint8:
            shapes = {one.shape[::2] for one in some}
            if len(shapes) > 1:
                what = f"features of different sizes: {sorted(shapes)[:3]}"
                raise DataError(what, "data.train", "give all of them as many rows and channels")
            rows, channels = shapes.pop()
            return cls(rows, channels=channels, features=True)
        heights = {one.shape[0] for one in some}
        same = heights.pop() if len(heights) == 1 else USUAL
        rows = settings.height or (same if same <= HIGHEST else USUAL)
        wide = np.array([one.shape[1] / one.shape[0] for one in some])
        differs = np.percentile(wide, 95) > RAGGED * np.percentile(wide, 5)
        ragged = settings.fit == "ragged" or (
            settings.fit == "auto"
            and settings.width is None
            and (differs or np.median(wide) > STRIP)
        )
        widths = {one.shape[1] for one in some}
        usual = widths.pop() if len(widths) == 1 and same == rows else rows
        grey = settings.colour == "grey" or (
            settings.colour == "auto" and not any(map(_has_colour, some))
        )
        light = grey and float(np.median([np.median(_edge(one)) for one in some])) > 127
        return cls(
            rows,
            0 if ragged else settings.width or usual,
            1 if grey else 3,
            settings.longest,
            settings.fit != "stretch",
            settings.invert == "yes" or (settings.invert == "auto" and light),
        )

    def prepared(self, picture: Picture) -> Prepared:
        """The picture in this form, (rows, columns, channels)."""
        if self.features or picture.dtype != np.uint8:
            self._refuse_other_features(picture)
            return picture
        if picture.shape[2] == 3 and self.channels == 1:
            picture = np.rint(picture @ LUMINANCE).astype(np.uint8)[..., None]
        elif picture.shape[2] == 1 and self.channels == 3:
            picture = picture.repeat(3, 2)
        high, wide = picture.shape[:2]
        columns = self.columns or min(self.longest, max(1, round(wide * self.rows / high)))
        if self.columns and self.crop:
            picture = _middle(picture, self.columns / self.rows)
        picture = resized(picture, self.rows, columns)
        return 255 - picture if self.invert else picture

    def frames(self, picture: Picture) -> np.ndarray:
        """One frame a column, rows x channels numbers each."""
        columns = self.prepared(picture).swapaxes(0, 1)
        return np.ascontiguousarray(columns).reshape(len(columns), -1)

    def shown(self, picture: Picture) -> str:
        """What the model was given to see, as a data URL; nothing for features, which nobody can see."""
        if self.features:
            return ""
        seen = self.prepared(picture)
        return png.url(np.ascontiguousarray(255 - seen if self.invert else seen))

    @property
    def width(self) -> int:
        """Numbers of a frame."""
        return self.rows * self.channels

    def to_json(self) -> str:
        """For tokenizer.json."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> PictureForm:
        """What `to_json` wrote, checked."""
        tree = loads(text, where="tokenizer.json")
        kinds = {name: type(value) for name, value in asdict(cls(1)).items()}
        right = isinstance(tree, dict) and {n: type(v) for n, v in tree.items()} == kinds
        if not right or not (0 < tree["rows"] <= 4096 and 0 < tree["channels"] <= 65536):
            what, remedy = "this is no form of pictures", "put back the tokenizer.json of this run"
            raise ModelFileError(what, "tokenizer.json", remedy)
        if not (0 <= tree["columns"] <= 4096 and 0 < tree["longest"] <= 4096):
            what, remedy = "this is no form of pictures", "put back the tokenizer.json of this run"
            raise ModelFileError(what, "tokenizer.json", remedy)
        return cls(**tree)

    def _refuse_other_features(self, picture: Picture) -> None:
        own = picture.shape[::2] if picture.dtype != np.uint8 else None
        if own != ((self.rows, self.channels) if self.features else None):
            wanted = (
                f"features of {self.rows} x columns x {self.channels}"
                if self.features
                else "pixels"
            )
            what = f"this model reads {wanted}, not {picture.dtype} of shape {picture.shape}"
            raise DataError(what, "picture", "give a picture of the kind that it was trained on")


def read(origin: Any, folder: Path | None = None) -> Picture:
    """A picture from a path, a data URL, an array, or anything Pillow opened: (rows, columns, channels).

    Paths that are not absolute are looked up in `folder`. Pixels are bytes, grey or red, green and blue;
    features, from `.npz` files and arrays of floats, are float32.
    """
    if isinstance(origin, str) and origin.startswith("data:"):
        data = png.from_url(origin)
        if data is None:
            raise DataError("this data URL is damaged", origin[:40], "give the whole of it")
        return decoded(data, "data URL")
    if isinstance(origin, str) and not origin.strip():
        raise DataError("no picture is named", "picture", "give the path of a picture")
    if isinstance(origin, str | Path):
        return decoded(_bytes_of(Path(folder or ".") / origin), str(origin))
    if hasattr(origin, "convert") and hasattr(origin, "mode"):
        return _upright(origin)
    try:
        array = np.asarray(origin)
        array = array[..., None] if array.ndim == 2 else array
        is_bytes = array.dtype == np.uint8
        if array.ndim != 3 or 0 in array.shape or array.dtype.kind not in "uif":
            raise ValueError
        if is_bytes and array.shape[2] not in (1, 3):
            raise ValueError
    except ValueError:
        raise UsageError(
            f"a picture cannot be {kind_of(origin)}{_shape_of(origin)}",
            where="picture",
            remedy="give a path, or bytes (uint8) of shape (rows, columns) or (rows, columns, 3)",
        ) from None
    return array if is_bytes else _features(array, "array")


def _shape_of(origin: Any) -> str:
    """Of nested lists and arrays, where they have one."""
    try:
        return f" of shape {np.shape(origin)}"
    except ValueError:
        return " whose rows differ in length"


def decoded(data: bytes, where: str) -> Picture:
    """A picture from the bytes of its file."""
    if data[:4] == b"PK\x03\x04":
        return _archived(data, where)
    own = png.decode(data)
    if own is not None:
        return own
    try:
        from PIL import Image
    except ImportError:
        raise UsageError(
            "pictures from files need Pillow, which is not installed",
            where=where,
            remedy="pip install 'regard[images]'; toys and .npz features need none",
        ) from None
    import warnings

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of metadata that nobody here reads
            with Image.open(io.BytesIO(data), formats=KINDS) as image:
                _refuse_large(image.size, where)
                return _upright(image)
    except DataError:
        raise
    except Image.DecompressionBombError:
        raise _too_large(where) from None
    except Exception as fault:  # a decoder may fail at broken bytes in any way
        reason = str(fault).split("\n")[0].replace(f"{io.BytesIO}", "it")[:120]
        if "cannot identify" in reason:
            reason = f"it is none of {', '.join(KINDS)}"
        what = f"this picture cannot be read: {reason or type(fault).__name__}"
        raise DataError(what, where, "save it again as PNG or JPEG, or leave it out") from None


def resized(
    picture: UInt8[np.ndarray, "row column channel"], rows: int, columns: int
) -> UInt8[np.ndarray, "new_row new_column channel"]:
    """The picture at another size: each new pixel is the mean of those under it, the near ones first."""
    if picture.shape[:2] == (rows, columns):
        return picture
    down, across = spread(picture.shape[0], rows), spread(picture.shape[1], columns)
    mixed = np.tensordot(down, picture.astype(np.float32), 1)
    mixed = np.tensordot(across, mixed, (1, 1)).swapaxes(0, 1)
    return np.rint(mixed).clip(0, 255).astype(np.uint8)


def spread(before: int, after: int) -> Float[np.ndarray, "after before"]:
    """How much of each old place goes into each new one: a triangle as wide as two of the larger."""
    centres = (np.arange(after) + 0.5) * before / after - 0.5
    reach = max(1.0, before / after)
    away = np.abs(np.arange(before) - centres[:, None]) / reach
    shares = np.maximum(0.0, 1.0 - away).astype(np.float32)
    return shares / shares.sum(1, keepdims=True)


def _bytes_of(path: Path) -> bytes:
    try:
        if not path.exists():
            raise missing(path, "picture")
        if path.is_dir():
            told = "this is a folder, and one picture is asked about"
            raise DataError(told, str(path)[:200], f"name the files in it: {path}/*")
        if path.stat().st_size > MOST_BYTES:
            raise _too_large(str(path))
        return path.read_bytes()
    except OSError as fault:
        if isinstance(fault, FileNotFoundError) and hasattr(fault, "remedy"):
            raise
        what = f"this picture cannot be read: {fault.strerror or fault}"
        raise DataError(what, str(path)[:200], "name a picture that is there") from None


def _upright(image: Any) -> UInt8[np.ndarray, "row column channel"]:
    """Turned as its EXIF says, on white where it is transparent, in grey or in red, green and blue."""
    from PIL import Image, ImageOps

    image = ImageOps.exif_transpose(image)
    if image.mode.startswith("I") or image.mode == "F":  # 16 bits, or more, of grey
        wide = np.asarray(image, np.float64)
        # 16 bits are told by the mode; of more, and of floats, nobody says what white is.
        known = "16" in image.mode
        scale = 257.0 if known or wide.max(initial=0) > 255 else 1.0
        return np.rint(np.nan_to_num(wide) / scale).clip(0, 255).astype(np.uint8)[..., None]
    if image.mode in ("PA", "LA", "RGBA", "La", "RGBa") or "transparency" in image.info:
        colours = image.convert("RGBA")
        white = Image.new("RGBA", image.size, "white")
        image = Image.alpha_composite(white, colours).convert(
            "L" if image.mode[0] == "L" else "RGB"
        )
    if image.mode in ("1", "L"):
        return np.asarray(image.convert("L"))[..., None]
    return np.asarray(image.convert("RGB"))


def _archived(data: bytes, where: str) -> Float[np.ndarray, "row column channel"]:
    """`features`, or the only array: (rows, columns, channels), or (places, channels)."""
    remedy = "write it with numpy.savez(path, features=array), one picture a file"
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            if sum(entry.file_size for entry in archive.infolist()) > MOST_BYTES:
                raise _too_large(where)
        with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
            names = list(arrays)
            name = "features" if "features" in names else names[0] if len(names) == 1 else ""
            if not name:
                what = f"this file holds {len(names)} arrays, and none is called features"
                raise DataError(what, where, remedy)
            array = arrays[name]
    except DataError:
        raise
    except Exception as fault:  # broken archives fail in any way
        reason = str(fault).split("\n")[0][:120]
        raise DataError(f"these features cannot be read: {reason}", where, remedy) from None
    return _features(array[None] if array.ndim == 2 else array, where)


def _features(array: np.ndarray, where: str) -> Float[np.ndarray, "row column channel"]:
    good = array.ndim == 3 and 0 not in array.shape and array.dtype.kind in "fiu"
    if not good or max(array.shape) > 65536:
        what = f"these features are {array.dtype} of shape {array.shape}"
        raise DataError(what, where, "give numbers of shape (rows, columns, channels)")
    features = array.astype(np.float32)
    if not np.isfinite(features).all():
        raise DataError("these features are not finite", where, "leave this picture out")
    return features


def _refuse_large(size: tuple[int, int], where: str) -> None:
    if size[0] * size[1] > MOST_PIXELS or not all(size):
        raise _too_large(where)


def _too_large(where: str) -> DataError:
    what = f"this picture has over {MOST_PIXELS:,} pixels or {MOST_BYTES >> 20} MiB"
    return DataError(what, where[:200], "make it smaller first: models read far less")


def _middle(picture: np.ndarray, ratio: float) -> np.ndarray:
    """The largest part about the centre whose width is `ratio` times its height."""
    high, wide = picture.shape[:2]
    kept_wide, kept_high = (
        max(1, min(wide, round(high * ratio))),
        max(1, min(high, round(wide / ratio))),
    )
    top, left = (high - kept_high) // 2, (wide - kept_wide) // 2
    return picture[top : top + kept_high, left : left + kept_wide]


def _edge(picture: np.ndarray) -> np.ndarray:
    """The brightness of the pixels around it."""
    grey = picture.mean(2)
    return np.concatenate([grey[0], grey[-1], grey[:, 0], grey[:, -1]])


def _has_colour(picture: np.ndarray) -> bool:
    """Whether red, green and blue differ anywhere by more than a camera's noise."""
    if picture.shape[2] == 1:
        return False
    spread = picture.max(2).astype(np.int16) - picture.min(2)
    return bool((spread > 24).mean() > 0.001)


def question_of(picture: Any) -> str:
    """A picture as the question about it: its path or data URL, or, of an array, a data URL."""
    from regard.question import Image

    picture = picture.data if isinstance(picture, Image) else picture
    if isinstance(picture, str | Path):
        return picture if isinstance(picture, str) else str(picture)
    pixels = read(picture)
    if pixels.dtype == np.uint8:
        return png.url(pixels)
    what, remedy = "features are asked about by their file", "write them with numpy.savez"
    raise UsageError(what, where="picture", remedy=remedy)


def source_of(question: str) -> Any:
    """What a question about a picture names: a path, a data URL, or the data of its one image."""
    from regard.question import Image, Question

    sources: Mapping[str, Any] = question.sources if isinstance(question, Question) else {}
    images = [one for one in sources.values() if isinstance(one, Image)]
    if len(images) == 1:
        return images[0].data
    if question.lstrip().startswith("{"):
        tree = loads(question, where="question")
        one = next(iter(tree.values()), None) if isinstance(tree, dict) and len(tree) == 1 else None
        for part in (tree, one):  # {"image": ..}, or the same by the name of its source
            if isinstance(part, dict) and "image" in part:
                return part["image"]
    return str(question)
