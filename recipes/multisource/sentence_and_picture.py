"""A sentence and its picture to a translation: English to German with photographs (Multi30k and Flickr8k).

    python recipes/multisource/sentence_and_picture.py DATA OUT [--minutes N] [--steps 4000] [--device auto]
                                                       [--only NAME ...] [--height 96] [--tokens 9216]

DATA holds `multi30k.train.tsv.xz`, `val` and `test_2016_flickr` (file, line, en, de, fr, cs), and
`images96.zip`.

Four trainings: text alone, text and picture; and both again where every source word that names a colour, a
person or a number is hidden as `[v]`, as Caglayan (2019) did, so that only the picture can tell. Each model
with a picture is asked three times: with the right picture, with that of another sentence, and with none. No
pretrained network.
"""

from __future__ import annotations

import argparse
import json
import lzma
import re
import sys
import zipfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
import pictured

from regard.evaluate import bleu, paired
from regard.question import Image

TEXT = {"kind": "transformer", "width": 128, "layers": 3, "heads": 4, "feedforward": 256}
TEXT |= {"dropout": 0.3, "activation_dropout": 0.2}
SEEN = {"kind": "front", "width": 128, "dropout": 0.3}
FRONT = {"kind": "convolution", "channels": [32, 64, 128], "blocks": 1, "warp": 0.1}
SPLITS = {"train": "train", "val": "valid", "test_2016_flickr": "test"}
HIDDEN = re.compile(
    r"\b(black|white|red|blue|green|yellow|brown|orange|pink|purple|gr[ae]y|tan|blonde?|dark|"
    r"man|men|woman|women|boys?|girls?|lady|ladies|guys?|child|children|kids?|dogs?|people|persons?|baby|"
    r"one|two|three|four|five|six)\b",
    re.IGNORECASE,
)
RUNS = {  # whether words are hidden, and whether there is a picture
    "text": (False, False),
    "picture": (False, True),
    "hidden-text": (True, False),
    "hidden-picture": (True, True),
}


def prepare(data: Path, out: Path, most: int | None) -> None:
    """Tables with a header: en, picture, de; with and without hidden words."""
    (out / "images").mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(data / "images96.zip") as held:
        for split, name in SPLITS.items():
            text = lzma.decompress((data / f"multi30k.{split}.tsv.xz").read_bytes()).decode("utf-8")
            rows = [line.split("\t") for line in text.splitlines()][:most]
            for file, *_ in rows:
                (out / "images" / file).write_bytes(held.read(file))
            for hides in (False, True):
                lines = ["en\tpicture\tde"]
                for file, _, english, german, *_ in rows:
                    asked = HIDDEN.sub("[v]", english) if hides else english
                    lines.append(f"{asked}\timages/{file}\t{german}")
                table = out / f"{'hidden.' if hides else ''}{name}.tsv"
                table.write_text("\n".join(lines) + "\n", encoding="utf-8")


def table(path: Path) -> list[list[str]]:
    return [line.split("\t") for line in path.read_text("utf-8").splitlines()[1:]]


def learn(name: str, options: argparse.Namespace) -> None:
    """One training, and its answers to every kind of question."""
    hides, sees = RUNS[name]
    before = "hidden." if hides else ""
    settings = {
        "model": {
            "encoder": TEXT,
            "encoders": {"picture": {**SEEN, "front": FRONT}} if sees else {},
            "reader": {**TEXT, "combine": "serial"},
            "source_dropout": 0.0,
        },
        "text": {"kind": "bpe", "vocabulary": 4000},
        "picture": {"height": options.height, "fit": "crop"},
        **{"batch.tokens": options.tokens, "batch.max_length": 128, "batch.buckets": 12},
        **{"train.steps": options.steps, "train.rate": 2e-3, "train.schedule": "cosine"},
        **{"train.warmup": options.steps // 5, "train.ema_decay": 0.995},
        **{"train.evaluate_every": 250, "train.evaluate_examples": 0, "train.log_every": 50},
        **{"train.checkpoint_every": 250, "train.keep": 1, "train.average": "ema"},
        **{"train.patience": 8, "decode.beam": 5},
    }
    model = pictured.train(
        options.out / f"{before}train.tsv",
        minutes=options.minutes,
        out=options.out / name,
        valid=[options.out / f"{before}valid.tsv"],
        to="de",
        task="multisource",
        sources=["en", "picture"] if sees else ["en"],
        settings=settings,
        device=options.device,
    )
    rows = table(options.out / f"{before}test.tsv")
    pictures = [row[1] for row in rows]
    others = pictures[len(pictures) // 2 :] + pictures[: len(pictures) // 2]
    kinds = {"right": pictures, "wrong": others, "none": [""] * len(rows)}
    for kind, shown in kinds.items() if sees else {"none": kinds["none"]}.items():
        asked = [
            {"en": row[0], **({"picture": Image(str(options.out / file))} if file else {})}
            for row, file in zip(rows, shown, strict=True)
        ]
        answers = [" ".join(answer.text.split()) for answer in model.predict(asked)]
        (options.out / f"{name}.{kind}.txt").write_text("".join(f"{one}\n" for one in answers))


def judge(options: argparse.Namespace) -> None:
    """BLEU of every file of answers, and each pair that belongs together with its interval."""
    right = [row[2] for row in table(options.out / "test.tsv")]
    answers = {
        file.stem: file.read_text().split("\n")[:-1] for file in sorted(options.out.glob("*.*.txt"))
    }
    results = {"scores": {name: str(bleu(some, right)) for name, some in answers.items()}}
    results["differences"] = {}
    for own in ("", "hidden-"):
        seen = f"{own}picture.right"
        for other in (f"{own}text.none", f"{own}picture.wrong", f"{own}picture.none"):
            if seen in answers and other in answers:
                found = paired(answers[other], answers[seen], right)
                results["differences"][f"{seen} against {other}"] = str(found)
    (options.out / "results.json").write_text(json.dumps(results, indent=1))
    print(json.dumps(results, indent=1), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--only", nargs="*", default=list(RUNS), choices=list(RUNS))
    parser.add_argument("--minutes", type=float, help="of each training")
    parser.add_argument("--steps", type=int, default=4000)
    parser.add_argument("--height", type=int, default=96, help="of a picture, in pixels")
    parser.add_argument(
        "--tokens", type=int, default=9216, help="of a batch, cells of pictures counted"
    )
    parser.add_argument("--pictures", type=int, help="so many lines of each part, for a trial")
    parser.add_argument("--device", default="auto")
    options = parser.parse_args()
    if not (options.out / "train.tsv").exists():
        prepare(options.data, options.out, options.pictures)
    for name in options.only:
        learn(name, options)
        judge(options)


if __name__ == "__main__":
    main()
