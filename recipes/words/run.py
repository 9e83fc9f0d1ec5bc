"""Do a translator's states know senses, and its attention word links? WiC, SemCor and Hansards, by layer.

    python recipes/words/run.py DATA --run translator --to fr --back en [--only align wic semcor] [--json OUT]
    python recipes/words/run.py DATA --run FOLDER --only wic semcor    # a folder of Hugging Face's

DATA holds `word_alignment/hansards.enfr.*`, `senses/wic.*.jsonl` and `semcor/semcor3.tsv.xz`.

align   alignment error of `regard align` on 200 pairs that people linked; site and heads chosen without them
wic     is a word meant alike in two sentences? The threshold on the cosine of its two states that is best on
        training pairs, judged on 200 others; states as they are, centred (the mean state of all words that
        were read is taken away), and whitened (Mu 2018; Su 2021). `all layers` is logistic regression on the
        cosines behind every layer
semcor  the sense of a word's nearest neighbour among all its other occurrences. Every occurrence gets an
        answer, so F1 is the share that is right; beside it the most frequent sense, and the static vector
"""

from __future__ import annotations

import argparse
import json
import lzma
import re
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import torch

from regard.answer.predictor import Predictor
from regard.run.find import is_brought
from regard.seams import reference
from regard.tasks import Prediction
from regard.traces.senses import cosines

WIC = re.compile(r"Word: (.*?)\. Sentence 1: (.*?) Sentence 2: (.*)", re.S)
States = dict[int, np.ndarray]
Pairs = dict[str, list[tuple[bool, States, States]]]


class Brought:
    """The same of a folder of Hugging Face's."""

    def __init__(self, folder: str) -> None:
        from regard.interop.bring import Brought as Opened

        self.opened = Opened.open(folder)
        self.table = self.opened.model.get_input_embeddings().weight.detach()

    @torch.inference_mode()
    def states(self, text: str, is_word: Callable[[list[str]], int | None]) -> States | None:
        """None where the word is not found."""
        axis = self.opened.axis(text)
        place = is_word([word.casefold() for word in axis.words])
        if place is None:
            return None
        pieces = [number for number, own in enumerate(axis.word_ids) if own == place]
        ids, layers = self.opened.layers(text)
        found = {-1: self.table[ids[pieces]].mean(0).numpy()}
        return found | {number: one[pieces].mean(0).numpy() for number, one in enumerate(layers)}


class Reader:
    """The states of one word of a sentence behind every layer of an encoder; -1 is the static vector."""

    def __init__(self, run: str, to: str | None) -> None:
        self.predictor = Predictor.load(run, "cpu")
        self.task, self.encoder, self.to = self.predictor.run.task, self.predictor.model.encoder, to

    @torch.inference_mode()
    def states(self, text: str, is_word: Callable[[list[str]], int | None]) -> States | None:
        """None where the word is not found, or the sentence cannot be read."""
        part = self.predictor.whole(text, self.to)
        read = text if part is None else part.read
        axis = self.task.forced(read, Prediction("")).axes["source"]
        place = is_word([word.casefold() for word in axis.words])
        if place is None:
            return None
        pieces = [number for number, own in enumerate(axis.word_ids) if own == place]
        ids = torch.from_numpy(np.asarray(self.task.encode(read))).long()[None]
        found = {-1: self.encoder.embedding.table.weight[ids[0, pieces]].mean(0).numpy()}
        states = self.encoder.embed(ids, None).states
        norm = self.encoder.norm or (lambda x: x)
        with reference():
            for layer, block in enumerate([None, *self.encoder.blocks]):
                states = states if block is None else block(states, self.encoder.mask)
                found[layer] = norm(states)[0, pieces].mean(0).numpy()
        return found


def near(word: str) -> Callable[[list[str]], int | None]:
    """The place of a word or of a form of it: the longest common beginning, at least three letters or all."""

    def place(words: list[str]) -> int | None:
        best = max(range(len(words)), key=lambda n: _common(words[n], word), default=None)
        if best is None or _common(words[best], word) < min(3, len(word)):
            return None
        return best

    return place


def _common(one: str, other: str) -> int:
    return next(
        (n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b),
        min(len(one), len(other)),
    )


def wic(data: Path, reader: Reader | Brought, most: int) -> dict[str, object]:
    """Accuracy by layer on pairs of sentences that both can be read."""
    rows: Pairs = {"train": [], "valid": []}
    for part, own in rows.items():
        for line in (data / f"wic.{part}.jsonl").read_text("utf-8").splitlines()[:most]:
            row = json.loads(line)
            match = WIC.fullmatch(row["text"].strip())
            assert match, row
            word, *sentences = match.groups()
            pair = [reader.states(text, near(word.casefold())) for text in sentences]
            if pair[0] is not None and pair[1] is not None:
                own.append((bool(row["label"]), pair[0], pair[1]))
    found: dict[str, dict[str, float]] = {}
    features: dict[str, list[np.ndarray]] = {part: [] for part in rows}
    labels = {part: np.array([label for label, _, _ in own]) for part, own in rows.items()}
    for layer in sorted(rows["train"][0][1]):
        for way in ("as they are", "centred", "whitened"):
            alike = _alike(rows, layer, way)
            found.setdefault(way, {})[_layer(layer)] = _judged(alike, labels)
            if way == "centred":
                for part, own in alike.items():
                    features[part].append(own)
    every = {part: np.stack(own, 1) for part, own in features.items()}
    found["all layers"] = {"centred": _regression(every, labels)}
    share = 100 * max(np.mean(labels["valid"]), 1 - np.mean(labels["valid"]))
    sizes = {part: len(own) for part, own in rows.items()}
    return {"accuracy": found, "largest class": round(float(share), 1), "pairs": sizes}


def _alike(rows: Pairs, layer: int, way: str) -> dict[str, np.ndarray]:
    """The cosine of each pair; what is taken away is learned from training pairs."""
    train = np.stack([one[layer] for _, a, b in rows["train"] for one in (a, b)]).astype(np.float64)
    centre = train.mean(0) if way != "as they are" else 0.0
    turn = np.eye(train.shape[1])
    if way == "whitened":
        left, scale, _ = np.linalg.svd(np.cov((train - centre).T))
        kept = min(64, len(train) // 8)
        turn = left[:, :kept] / np.sqrt(scale[:kept] + 1e-9)
    found = {}
    for part, own in rows.items():
        sides = [(np.stack([pair[side][layer] for pair in own]) - centre) @ turn for side in (1, 2)]
        norms = [np.maximum(np.linalg.norm(one, axis=1), 1e-12) for one in sides]
        found[part] = (sides[0] * sides[1]).sum(1) / (norms[0] * norms[1])
    return found


def _judged(alike: dict[str, np.ndarray], labels: dict[str, np.ndarray]) -> float:
    cuts = np.unique(alike["train"])
    best = max(cuts, key=lambda cut: float(((alike["train"] >= cut) == labels["train"]).mean()))
    return round(100 * float(((alike["valid"] >= best) == labels["valid"]).mean()), 1)


def _regression(features: dict[str, np.ndarray], labels: dict[str, np.ndarray]) -> float:
    """Logistic regression, a little held back, by Newton's method."""
    mean, spread = features["train"].mean(0), features["train"].std(0) + 1e-9
    design = {
        part: np.column_stack([(own - mean) / spread, np.ones(len(own))])
        for part, own in features.items()
    }
    weights = np.zeros(design["train"].shape[1])
    for _ in range(20):
        chance = 1 / (1 + np.exp(-design["train"] @ weights))
        slope = design["train"].T @ (labels["train"] - chance) - weights
        bend = (design["train"].T * (chance * (1 - chance))) @ design["train"] + np.eye(
            len(weights)
        )
        weights = weights + np.linalg.solve(bend, slope)
    return round(100 * float(((design["valid"] @ weights > 0) == labels["valid"]).mean()), 1)


def semcor(data: Path, reader: Reader | Brought, words: int, each: int) -> dict[str, object]:
    """F1 of nearest neighbours by layer, over the most frequent words that have several senses."""
    chosen = list(_senses(data / "semcor3.tsv.xz", words, each))
    right: Counter[int] = Counter()
    total = first = 0
    for lemma, occurrences in chosen:
        read = []
        for text, form, sense in occurrences:
            found = reader.states(
                text, lambda own, form=form: own.index(form) if form in own else None
            )
            if found is not None:
                read.append((sense, found))
        senses = np.array([sense for sense, _ in read])
        if len(set(senses.tolist())) < 2:
            continue
        total += len(read)
        first += max(Counter(senses.tolist()).values())
        for layer in read[0][1]:
            alike = cosines(np.stack([states[layer] for _, states in read]))
            np.fill_diagonal(alike, -np.inf)
            nearest = alike >= alike.max(1, keepdims=True) - 1e-6  # several as near: their share
            same = senses[:, None] == senses[None]
            right[layer] += float(((nearest & same).sum(1) / nearest.sum(1)).sum())
        print(f"{lemma}: {len(read)} occurrences", file=sys.stderr)
    by_layer = {_layer(layer): round(100 * right[layer] / total, 1) for layer in sorted(right)}
    sizes = {"words": len(chosen), "occurrences": total}
    return {"F1": by_layer, "most frequent sense": round(100 * first / total, 1), **sizes}


def _senses(path: Path, words: int, each: int) -> Iterator[tuple[str, list[tuple[str, str, str]]]]:
    """Lemmas with the sentences, forms and senses of their occurrences; those with the most come first."""
    found: dict[str, list[tuple[str, str, str]]] = defaultdict(list)
    with lzma.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            _, _, text, tags = line.rstrip("\n").split("\t")
            tokens = text.split(" | ")
            if not 4 <= len(tokens) <= 25:
                continue
            for tag in tags.split():
                number, rest = tag.split(":", 1)
                lemma, kind, sense = rest.rsplit(":", 2)
                form = tokens[int(number)].casefold()
                if kind in ("NN", "VB", "JJ") and " " not in form and len(form) > 3:
                    found[f"{lemma}:{kind}"].append((text.replace(" | ", " "), form, sense))

    def rare(lemma: str) -> int:
        """How many occurrences have another sense than the most frequent one."""
        counts = Counter(sense for _, _, sense in found[lemma])
        return sum(counts.values()) - max(counts.values())

    for lemma in sorted(found, key=lambda one: (-rare(one), one))[:words]:
        yield lemma, found[lemma][:each]


def align(data: Path, run: str, to: str, back: str) -> dict[str, object]:
    """What `regard align` prints, for the pairs and links of Hansards."""
    with tempfile.TemporaryDirectory() as place:
        lines = [
            [side.strip() for side in line.split("|||")]
            for line in (data / "hansards.enfr.src-tgt").read_text("utf-8").splitlines()
            if line.strip()
        ]
        gold = [
            line
            for line in (data / "hansards.enfr.gold").read_text("utf-8").splitlines()
            if line.strip()
        ]
        assert len(gold) == len(lines), (len(gold), len(lines))
        names = [Path(place) / name for name in ("a.en", "a.fr", "a.links")]
        for name, own in zip(
            names, ([a for a, _ in lines], [b for _, b in lines], gold), strict=True
        ):
            name.write_text("\n".join(own) + "\n", "utf-8")
        words = [
            sys.executable,
            "-m",
            "regard",
            "align",
            run,
            str(names[0]),
            str(names[1]),
            "--to",
            to,
        ]
        words += ["--back", back, "--gold", str(names[2]), "--first", "1", "--json"]
        done = subprocess.run(words, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    return {key: value for key, value in found.items() if key != "links"}


def _layer(layer: int) -> str:
    return "static" if layer < 0 else str(layer)


def main() -> None:
    """Everything that was asked for, as one JSON object."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path)
    parser.add_argument("--run", default="translator")
    parser.add_argument("--to", default="fr")
    parser.add_argument("--back", default="en")
    parser.add_argument("--only", nargs="*", default=["align", "wic", "semcor"])
    parser.add_argument("--pairs", type=int, default=2000, help="of WiC's training part")
    parser.add_argument("--words", type=int, default=30, help="of SemCor")
    parser.add_argument("--each", type=int, default=60, help="occurrences of a word, at most")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    found: dict[str, object] = {}
    if "align" in given.only:
        found["align"] = align(given.data / "word_alignment", given.run, given.to, given.back)
    if {"wic", "semcor"} & set(given.only):
        reader = Brought(given.run) if is_brought(given.run) else Reader(given.run, given.to)
    if "wic" in given.only:
        found["wic"] = wic(given.data / "senses", reader, given.pairs)
    if "semcor" in given.only:
        found["semcor"] = semcor(given.data / "semcor", reader, given.words, given.each)
    print(json.dumps(found, indent=1))
    if given.json:
        given.json.write_text(json.dumps(found, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
