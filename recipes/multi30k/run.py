"""Multi30k, every row of the table in README.md: train and judge all, or some, side by side.

    python recipes/multi30k/run.py DATA OUT [--only NAME ...] [--jobs 4] [--device auto]

DATA holds the files of the Multi30k task: `train.lc.norm.tok.en` and so on (lower-cased, normalised,
tokenised) for the published rows, and `train.en` and so on (raw) for the detokenised one.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from rows import fit

TINY = """
[text]
kind = "bpe"
vocabulary = 10000
[batch]
tokens = 4096
[model.encoder]
kind = "transformer"
width = 128
layers = 4
heads = 4
feedforward = 256
dropout = 0.3
activation_dropout = 0.3
[model.reader]
kind = "transformer"
width = 128
layers = 4
heads = 4
feedforward = 256
dropout = 0.3
activation_dropout = 0.3
[train]
steps = 8000
rate = 5e-3
warmup = 2000
evaluate_every = 400
evaluate_examples = 100
checkpoint_every = 200
average = "last"
average_last = 10
log_every = 100
[decode]
beam = 5
alpha = 1.0
penalty = "average"
max_length = 100
"""

RNN = """
[text]
kind = "bpe"
vocabulary = 10000
[batch]
tokens = 4096
[model.encoder]
kind = "rnn"
cell = "{cell}"
width = 512
layers = {layers}
bidirectional = {both}
dropout = 0.5
[model.reader]
kind = "rnn"
cell = "{cell}"
width = 512
layers = {layers}
score = "{score}"
looks = "{looks}"
input_feeding = {feeding}
dropout = 0.5
[train]
steps = 3000
rate = 1e-3
warmup = 400
evaluate_every = 200
evaluate_examples = 100
checkpoint_every = 200
log_every = 100
[decode]
beam = 5
alpha = 1.0
penalty = "average"
max_length = 100
"""


def rnn(cell, score, looks="after", feeding="true", layers=1, both="true"):
    return RNN.format(
        cell=cell, score=score, looks=looks, feeding=feeding, layers=layers, both=both
    )


# The same network, asked twice and made to agree with itself (Liang 2021); on a GPU, packed and recorded.
AGREE = TINY
for old, new in {
    "dropout = 0.3\nactivation_dropout = 0.3": "dropout = 0.2",
    "tokens = 4096": "tokens = 4096\npacked = true",
    "steps = 8000\nrate = 5e-3": 'steps = 12000\nrate = 4e-3\nschedule = "cosine"\nagreement = 3',
    "evaluate_every = 400\nevaluate_examples = 100": "evaluate_every = 1000\nevaluate_examples = 0",
    "checkpoint_every = 200": 'checkpoint_every = 4000\ncompile = true\nprecision = "bfloat16"',
    'average = "last"\naverage_last = 10': 'average = "ema"\nema_decay = 0.999',
}.items():
    AGREE = AGREE.replace(old, new)
POST = TINY.replace('kind = "transformer"', 'kind = "transformer"\nnorm = "post"')
# Under each name: settings, from which language, into which, and which files.
ROWS = {
    "lstm-none": (rnn("lstm", "none", feeding="false", layers=2, both="false"), "de", "en", "tok"),
    "gru-none": (rnn("gru", "none", both="false"), "de", "en", "tok"),
    "bahdanau": (rnn("gru", "additive", "before", "false"), "de", "en", "tok"),
    "luong-dot": (rnn("lstm", "dot"), "de", "en", "tok"),
    "luong-general": (rnn("lstm", "general"), "de", "en", "tok"),
    "luong-concat": (rnn("lstm", "additive"), "de", "en", "tok"),
    "luong-location": (rnn("lstm", "location"), "de", "en", "tok"),
    "cosine": (rnn("gru", "cosine", feeding="false"), "de", "en", "tok"),
    "tiny-de-en": (TINY, "de", "en", "tok"),
    "tiny-en-de": (TINY, "en", "de", "tok"),
    "tiny-agree-en-de": (AGREE, "en", "de", "tok"),
    "tiny-post-en-de": (POST, "en", "de", "tok"),
    "tiny-en-fr": (TINY, "en", "fr", "tok"),
    "tiny-raw-en-de": (TINY, "en", "de", "raw"),
}
TESTS = ("test_2016_flickr", "test_2017_flickr", "test_2017_mscoco")


def path(data: Path, split: str, language: str, files: str) -> Path:
    middle = ".lc.norm.tok" if files == "tok" else ""
    return data / f"{split}{middle}.{language}"


def start(name: str, options: argparse.Namespace) -> subprocess.Popen:
    command = [sys.executable, sys.argv[0], str(options.data), str(options.out)]
    command += ["--device", options.device, "--one", name]
    log = (options.out / f"{name}.log").open("ab")
    return subprocess.Popen(command, stdout=log, stderr=log)


def learn(name: str, data: Path, out: Path, device: str) -> None:
    settings, source, target, files = ROWS[name]
    parts = {
        part: [path(data, split, side, files) for side in (source, target)]
        for part, split in (("train", "train"), ("valid", "val"))
    }
    fit(name, settings, parts, out, device)


def judge(name: str, data: Path, out: Path, device: str) -> list[dict]:
    from regard.evaluate import bleu
    from regard.models import count_parameters
    from regard.run.folder import Run
    from regard.training import choose_device

    run = Run.open(out / name)
    model = run.load_model(choose_device(device))
    _, source, target, files = ROWS[name]
    rows = []
    for test in TESTS:
        asked, wanted = path(data, test, source, files), path(data, test, target, files)
        if not (asked.is_file() and wanted.is_file()):
            continue
        questions = asked.read_text("utf-8").split("\n")[:-1]
        answers = wanted.read_text("utf-8").split("\n")[:-1]
        tokenize = "none" if files == "tok" else "13a"
        for beam in (1, 5):
            decode = run.settings.decode.model_copy(update={"beam": beam})
            found = run.task.predict(model, questions, decode, tokens=16384)
            metric = bleu([one.text for one in found], answers, tokenize=tokenize)
            row = {"name": name, "pair": f"{source}-{target}", "test": test, "beam": beam}
            rows.append({**metric.as_dict(), **row, "parameters": count_parameters(model)})
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--only", nargs="*", default=list(ROWS), choices=list(ROWS))
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--one", choices=list(ROWS), help="train this one here, and nothing else")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    if options.one:
        learn(options.one, options.data, options.out, options.device)
        return
    waiting, running, began = list(options.only), {}, time.monotonic()
    while waiting or running:
        while waiting and len(running) < options.jobs:
            name = waiting.pop(0)
            running[name] = start(name, options)
        for name, process in list(running.items()):
            if process.poll() is None:
                continue
            del running[name]
            minutes = (time.monotonic() - began) / 60
            if process.returncode:
                print(f"{name}: exit code {process.returncode}; see {name}.log", flush=True)
                continue
            for row in judge(name, options.data, options.out, options.device):
                with (options.out / "results.jsonl").open("a") as file:
                    file.write(json.dumps(row) + "\n")
                print(
                    f"{minutes:5.1f} min  {name:16} {row['test']:18} beam {row['beam']}  "
                    f"{row['value']:6.2f}  {row['signature']}",
                    flush=True,
                )
        time.sleep(1)


if __name__ == "__main__":
    main()
