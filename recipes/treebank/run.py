"""Trees of the Wall Street Journal as rows of brackets: labelled F1 of an LSTM and of a Transformer.

    python recipes/treebank/run.py DATA OUT [--only NAME ...] [--start RUN] [--seconds N] [--device auto]
                                   [--width 256] [--layers N] [--tokens 4096] [--vocabulary 4000]

DATA holds `treebank.zip`: 199 articles, 3,914 trees. Articles 1 to 159 are learned from, 160 to 179 choose
the best step, 180 to 199 are the test. Functions and traces are left out, as EVALB does, and punctuation does
not count. The search can only answer with trees over the words; how many answers are is counted all the same.
`pretrained` starts from a run of the task `fill` (recipes/few-labels): its encoder and its vocabulary. Nobody
publishes a figure for this sample; on ten times the trees Vinyals 2015 reports 88.3, and Vaswani 2017 91.3
(L95).
"""

from __future__ import annotations

import argparse
import json
import sys
import zipfile
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1]))
from timed import learn_for

import regard
from regard.models import count_parameters
from regard.run.corpus import Corpus
from regard.run.settings import DataSettings
from regard.text.trees import read_tree

PARTS = {"train": range(1, 160), "valid": range(160, 180), "test": range(180, 200)}
SHARED = {
    **{"text.kind": "bpe", "text.vocabulary": 4000, "train.warmup": 200, "decode.beam": 4},
    **{"train.average": "ema", "train.log_every": 50, "train.evaluate_examples": 10},
}
BLOCKS = {"layers": 4, "heads": 4, "feedforward": 1024, "dropout": 0.3}
ROWS = {
    "lstm": {
        **{"model.encoder.width": 256, "model.encoder.layers": 2, "model.encoder.dropout": 0.4},
        **{"model.reader.width": 256, "model.reader.layers": 2, "model.reader.dropout": 0.4},
        **{"train.rate": 2e-3},
    },
    "transformer": {
        **{"model.encoder": {"kind": "transformer", "width": 256, "position": "rotary", **BLOCKS}},
        **{"model.reader": {"kind": "transformer", "width": 256, "position": "rotary", **BLOCKS}},
        **{"train.rate": 1e-3},
    },
    "pretrained": {
        "model.reader": {"kind": "transformer", "width": 256, "position": "rotary", **BLOCKS},
        **{"model.encoder.dropout": 0.2, "train.rate": 5e-4},
    },
}


def prepare(data: Path, out: Path, most: int | None) -> None:
    """One file a part, article after article."""
    with zipfile.ZipFile(data / "treebank.zip") as archive:
        for part, numbers in PARTS.items():
            names = [f"treebank/combined/wsj_{n:04}.mrg" for n in numbers][:most]
            text = "".join(archive.read(name).decode() for name in names)
            (out / f"{part}.mrg").write_text(text, encoding="utf-8")


def sized(row: dict, options: argparse.Namespace) -> dict:
    """The same row as narrow and as deep as was asked for."""
    sizes = {"width": options.width, "layers": options.layers, "feedforward": 4 * options.width}
    made = {}
    for key, value in row.items():
        part, _, last = key.rpartition(".")
        if isinstance(value, dict):
            made[key] = {name: sizes.get(name) or usual for name, usual in value.items()}
        else:
            made[key] = (sizes.get(last) if part.startswith("model.") else None) or value
    return made


def learn(name: str, options: argparse.Namespace) -> bool:
    settings = {**SHARED, **sized(ROWS[name], options), "seed": options.seed}
    settings |= {"train.steps": options.steps, "batch.tokens": options.tokens}
    settings |= {"text.vocabulary": options.vocabulary, "train.schedule": options.schedule}
    settings |= {"train.evaluate_every": options.every, "train.checkpoint_every": options.every}
    if name == "pretrained":
        settings = {k: v for k, v in settings.items() if not k.startswith("text.")}
    how = {"preset": "vinyals2015-parse"} if name == "lstm" else {"task": "parse"}
    if name == "pretrained":
        how["start_from"] = options.start
    if name == "transformer":
        settings |= {"objective.smoothing": 0.1}
    return learn_for(
        options.seconds,
        options.out / "train.mrg",
        out=options.out / name,
        valid=options.out / "valid.mrg",
        settings=settings,
        device=options.device,
        **how,
    )


def judge(name: str, options: argparse.Namespace) -> dict:
    """Labelled brackets of the test; each answer must be a tree over the words it was asked about."""
    model = regard.load(options.out / name, device=options.device)
    test = (str(options.out / "test.mrg"),)
    data = DataSettings(train=test, valid=test)  # else some were held out
    examples = list(Corpus.of(data, "parse").examples("train"))[: options.test]
    questions = [example.asked for example in examples]
    said = [answer.text for answer in model.predict(questions, beam=4, max_length=600)]
    whole = sum(_is_over(text, words) for text, words in zip(said, questions, strict=True))
    metrics = model.learned.judge(said, [example.answer for example in examples])
    (options.out / f"{name}.trees.txt").write_text("".join(f"{one}\n" for one in said))
    found = {metric.name: round(metric.value, 2) for metric in metrics}
    return {
        **found,
        "trees": len(said),
        "well-formed over their words": whole,
        "parameters": count_parameters(model.model),
        "signature": metrics[0].as_dict().get("signature"),
    }


def _is_over(text: str, words: str) -> bool:
    try:
        return read_tree(text).words == tuple(words.split())
    except regard.errors.DataError:
        return False


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--only", nargs="*", default=["lstm", "transformer"], choices=list(ROWS))
    parser.add_argument("--start", type=Path, help="a run of the task fill, for `pretrained`")
    parser.add_argument("--steps", type=int, default=6000)
    parser.add_argument("--every", type=int, default=200)
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--layers", type=int, help="of encoder and decoder; usually 2 or 4")
    parser.add_argument("--tokens", type=int, default=4096, help="of a batch")
    parser.add_argument("--vocabulary", type=int, default=4000)
    parser.add_argument("--schedule", default="inverse-sqrt")
    parser.add_argument("--articles", type=int, help="of each part, for a trial")
    parser.add_argument("--test", type=int, help="trees of the test, for a trial")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, help="for each model")
    parser.add_argument("--device", default="auto")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    prepare(options.data, options.out, options.articles)
    results = options.out / "results.json"
    found = json.loads(results.read_text()) if results.is_file() else {}
    for name in options.only:
        if learn(name, options):
            found[name] = judge(name, options)
            print(name, json.dumps(found[name]), flush=True)
            results.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
