"""Spoken digits, alone and in strings of up to five: word error on held-out takes and on a held-out speaker.

    python recipes/spoken-digits/run.py DATA OUT [--steps 800] [--width 128] [--device auto]
        [--speaker yweweler]

DATA is `fsdd.tar.xz` of the Free Spoken Digit Dataset: DIGIT_SPEAKER_TAKE.wav, 50 takes of each digit by each
of six speakers, at 8 kHz. One speaker is left out of training altogether; of the others, takes 0 to 4 are the
test, as the data set proposes, and take 5 and 6 validate. Strings are takes of one speaker, one behind the
other, with silences of up to 0.15 seconds; in training most are short, and the tempo differs by up to 12%.
OUT/results.json has word errors with their signatures, and Spearman's correlation between the words of each
string and where the model looked for them. Typed again, training goes on where it was.
"""

from __future__ import annotations

import argparse
import json
import tarfile
from collections import defaultdict
from pathlib import Path
from random import Random

import numpy as np

import regard
from regard.data import sound, wav
from regard.data.wav import Clip
from regard.traces.word_times import monotony

NAMES = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
TEST, VALID = range(5), range(5, 7)
RATE = 8_000
STRINGS = {"train": 4000, "valid": 200, "takes": 500, "speaker": 500}
FASTER = 0.12
LONGEST = 5  # digits

Takes = dict[str, dict[int, list[Clip]]]  # by part, then by digit; a part is `train/george`


def recordings(archive: Path, held_out: str) -> dict[str, Takes]:
    """Every take in the part that it belongs to."""
    parts: dict[str, Takes] = defaultdict(lambda: defaultdict(lambda: defaultdict(list)))
    with tarfile.open(archive) as files:
        for member in sorted(files.getmembers(), key=lambda one: one.name):
            opened = files.extractfile(member) if member.name.endswith(".wav") else None
            if opened is None:
                continue
            digit, speaker, take = Path(member.name).stem.split("_")
            part = "takes" if int(take) in TEST else "valid" if int(take) in VALID else "train"
            part = "speaker" if speaker == held_out else part
            clip = wav.decode(opened.read(), member.name)
            parts[part][speaker][int(digit)].append(clip)
    return parts


def composed(takes: dict[int, list[Clip]], draw: Random, training: bool) -> tuple[Clip, str]:
    """One to five digits of one speaker, and their names."""
    count = draw.randint(1, LONGEST)
    tempo = 1.0
    if training:  # short strings teach digits, long ones order
        count, tempo = min(count, draw.randint(1, LONGEST)), 1 + draw.uniform(-FASTER, FASTER)
    digits = [draw.randrange(10) for _ in range(count)]
    parts = []
    for digit in digits:
        clip = draw.choice(takes[digit])
        parts.append(sound.resampled(Clip(clip.samples, round(RATE * tempo)), RATE))
        parts.append(np.zeros(draw.randrange(int(0.15 * RATE)), np.float32))
    return Clip(np.concatenate(parts[:-1]), RATE), " ".join(NAMES[digit] for digit in digits)


def prepare(options: argparse.Namespace) -> None:
    """A folder of sounds and a table of file and text for each part."""
    parts = recordings(options.data, options.speaker)
    for part, count in STRINGS.items():
        folder = options.out / part
        if (folder / "sounds.tsv").exists():
            continue
        folder.mkdir(parents=True, exist_ok=True)
        draw, lines = Random(f"digits/{part}"), []
        for number in range(count):
            takes = parts[part][draw.choice(sorted(parts[part]))]
            clip, text = composed(takes, draw, training=part == "train")
            (folder / f"{number}.wav").write_bytes(wav.encode(clip))
            lines.append(f"{number}.wav\t{text}\n")
        (folder / "sounds.tsv").write_text("".join(lines), encoding="utf-8")


def learn(options: argparse.Namespace) -> None:
    settings = {
        "text.kind": "word",
        **{"model.encoder.front.kind": "subsampling", "model.encoder.front.channels": [16, 16]},
        **{"model.encoder.front.mask_bands": 6, "model.encoder.front.mask_frames": 12},
        **{"model.encoder.layers": 2, "model.encoder.pyramid": 1},
        **{"model.encoder.width": options.width, "model.reader.width": options.width},
        **{"model.encoder.dropout": 0.2, "model.reader.dropout": 0.2},
        **{"batch.tokens": 6000, "train.steps": options.steps, "train.warmup": 100},
        **{"train.rate": 2e-3, "train.evaluate_every": 150, "train.checkpoint_every": 150},
        **{"train.evaluate_examples": 100, "train.best_by": "score"},
    }
    regard.train(
        options.out / "train" / "sounds.tsv",
        out=options.out / "run",
        valid=options.out / "valid" / "sounds.tsv",
        preset="chan2016",
        settings=settings,
        device=options.device,
    )


def judge(options: argparse.Namespace) -> dict[str, object]:
    """Word errors of both tests; on strings of three digits and more, whether attention went in order."""
    model = regard.load(options.out / "run", device=options.device)
    results: dict[str, object] = {}
    for part in ("takes", "speaker"):
        folder = options.out / part
        lines = (folder / "sounds.tsv").read_text("utf-8").splitlines()
        names, right = zip(*(line.split("\t") for line in lines), strict=True)
        questions = [str(folder / name) for name in names]
        said = [answer.text for answer in model.predict(questions)]
        single = [number for number, text in enumerate(right) if " " not in text]
        alone = model.learned.judge([said[n] for n in single], [right[n] for n in single])
        long = [n for n, text in enumerate(right) if len(text.split()) >= 3][: options.looks]
        orders = [monotony(model.look(questions[number])) for number in long]
        results[part] = {
            "strings": [one.as_dict() for one in model.learned.report(said, right)],
            "single digits": [one.as_dict() for one in alone],
            "spearman": float(np.nanmean(orders)),
            "looked at": len(orders),
        }
    return results


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--steps", type=int, default=800)
    parser.add_argument("--width", type=int, default=128)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--speaker", default="yweweler")
    parser.add_argument("--looks", type=int, default=50)
    options = parser.parse_args()
    prepare(options)
    learn(options)
    results = judge(options)
    (options.out / "results.json").write_text(json.dumps(results, indent=1))
    print(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
