"""Captions of photographs from scratch (Flickr8k): BLEU-4 and CIDEr against five captions each.

    python recipes/flickr8k/run.py DATA OUT [--minutes N] [--steps N] [--pictures N] [--device auto]

DATA holds `Flickr8k.token.txt` (or .xz), the lists `Flickr_8k.trainImages.txt`, devImages and testImages,
and the photographs in `images96.zip` or in a folder `Images`. No pretrained network is used: published
figures (Xu 2015: BLEU-4 19.5 with soft attention) rest on one that had learned from a million photographs.
"""

from __future__ import annotations

import lzma
import re
import sys
import zipfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
import pictured

SETTINGS = """
[text]
kind = "word"
min_count = 4

[picture]
height = 96
fit = "crop"

[model.encoder]
kind = "front"
width = 384
dropout = 0.3
[model.encoder.front]
kind = "convolution"
channels = [48, 96, 256]
blocks = 2
warp = 0.15
mirror = true

[model.reader]
kind = "rnn"
cell = "lstm"
score = "additive"
looks = "before"
width = 384
dropout = 0.4

[batch]
tokens = 12288
max_length = 128
buckets = 8

[train]
steps = 16000
rate = 6e-4
warmup = 1000
decay = 0.01
average = "ema"
best_by = "score"
evaluate_every = 1000
evaluate_examples = 500
checkpoint_every = 1000
log_every = 100
keep = 1

[decode]
beam = 4
max_length = 30
"""
PARTS = {"train": "train", "dev": "valid", "test": "test"}


def spoken(caption: str) -> str:
    """Words alone, in small letters, as captions are usually judged."""
    return " ".join(re.findall(r"[a-z0-9]+(?:'[a-z]+)?", caption.lower()))


def prepare(data: Path, out: Path, most: int | None) -> None:
    """A table a part, five lines a photograph, and the photographs beside it."""
    packed = data / "Flickr8k.token.txt.xz"
    plain = packed.with_suffix("")
    text = lzma.decompress(packed.read_bytes()) if packed.exists() else plain.read_bytes()
    captions: dict[str, list[str]] = {}
    for line in text.decode("utf-8").splitlines():
        name, _, caption = line.partition("\t")
        captions.setdefault(name.partition("#")[0], []).append(spoken(caption))
    (out / "images").mkdir(exist_ok=True)
    archive = data / "images96.zip"
    held = zipfile.ZipFile(archive) if archive.exists() else None
    for part, name in PARTS.items():
        listed = (data / f"Flickr_8k.{part}Images.txt").read_text().split()[:most]
        for photograph in listed:
            source = held.read(photograph) if held else (data / "Images" / photograph).read_bytes()
            (out / "images" / photograph).write_bytes(source)
        rows = [(f"images/{one}", text) for one in listed for text in captions[one]]
        pictured.write(out / f"{name}.tsv", rows)


if __name__ == "__main__":
    pictured.main(__doc__ or "", {"soft": pictured.Form(SETTINGS)}, prepare, ("test",))
