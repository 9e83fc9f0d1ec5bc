"""A larger encoder learns the same two tasks and labels much text, from which the small models learn.

    python recipes/box/teacher.py tags ENCODER PLACE [--seconds 200]
    python recipes/box/teacher.py judgements ENCODER PLACE [--seconds 200]

ENCODER is a folder with `config.json`, `tokenizer.json` and `model.safetensors` of a BERT (all-MiniLM-L6-v2,
Apache 2.0). PLACE holds `english.txt` (words set apart), `ewt/{train,dev}.tsv` and what `opinions.py` wrote.
`tags` writes `tags.tsv`: lines of PLACE/english.txt tagged by the teacher. `judgements` writes `judged.tsv`:
texts with a label drawn by the probability that the teacher gives it, so that a text of which it is unsure
has both labels equally often, and a model that learns from them is unsure too.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import torch
import torch.nn.functional as F
from tokenizers import Tokenizer
from torch import Tensor, nn
from transformers import BertConfig, BertModel

SEED = 20261118
TAGS = [
    "ADJ",
    "ADP",
    "ADV",
    "AUX",
    "CCONJ",
    "DET",
    "INTJ",
    "NOUN",
    "NUM",
    "PART",
    "PRON",
    "PROPN",
    "PUNCT",
    "SCONJ",
    "SYM",
    "VERB",
    "X",
]
SHAPES = 6
LONGEST = 120
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def shape(word: str) -> int:
    """What lower-casing forgets."""
    if word.isupper():
        return 1 if len(word) > 1 else 2
    if word[:1].isupper():
        return 3
    if any(letter.isdigit() for letter in word):
        return 4
    return 5 if any(letter.isupper() for letter in word) else 0


class Teacher(nn.Module):
    """The encoder, the shape of each word added to what it reads, and a linear map to the labels."""

    def __init__(self, encoder: BertModel, labels: int, a_word: bool) -> None:
        super().__init__()
        self.encoder, self.a_word = encoder, a_word
        width = encoder.config.hidden_size
        self.shapes = nn.Embedding(SHAPES, width)
        nn.init.zeros_(self.shapes.weight)
        self.output = nn.Linear(width if a_word else 2 * width, labels)
        self.dropout = nn.Dropout(0.1)

    def forward(self, ids: Tensor, shapes: Tensor, mask: Tensor) -> Tensor:
        """Logits of each piece, or of the text."""
        embedded = self.encoder.embeddings.word_embeddings(ids) + self.shapes(shapes)
        states = self.encoder(inputs_embeds=embedded, attention_mask=mask).last_hidden_state
        if not self.a_word:
            real = mask.unsqueeze(-1)
            mean = (states * real).sum(1) / real.sum(1)
            states = torch.cat([states[:, 0], mean], -1)
        return self.output(self.dropout(states))


class Reading:
    """Words as the teacher's pieces, and where each word starts."""

    def __init__(self, folder: Path) -> None:
        self.tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.tokenizer.no_padding()
        self.tokenizer.no_truncation()
        self.begin, self.end = map(self.tokenizer.token_to_id, ("[CLS]", "[SEP]"))
        self.unknown = self.tokenizer.token_to_id("[UNK]")

    def rows(self, texts: Sequence[Sequence[str]]) -> list[tuple[list[int], list[int], list[int]]]:
        """Ids, shapes and starts of each text, which is words."""
        words = sorted({word for text in texts for word in text})
        cut = self.tokenizer.encode_batch(words, add_special_tokens=False)
        pieces = {word: found.ids or [self.unknown] for word, found in zip(words, cut, strict=True)}
        rows = []
        for text in texts:
            ids, shapes, starts = [self.begin], [0], []
            for word in text:
                starts.append(len(ids))
                ids += pieces[word]
                shapes += [shape(word)] * len(pieces[word])
            rows.append(([*ids, self.end], [*shapes, 0], starts))
        return rows


def batches(
    lengths: Sequence[int], tokens: int, order: random.Random | None
) -> Iterator[list[int]]:
    """Rows of about one length together."""
    ranked = sorted(range(len(lengths)), key=lambda n: (lengths[n], order.random() if order else n))
    found, own = [], []
    for number in ranked:
        if own and (len(own) + 1) * lengths[number] > tokens:
            found.append(own)
            own = []
        own.append(number)
    found += [own] if own else []
    if order:
        order.shuffle(found)
    yield from found


def tensors(
    rows: Sequence[tuple[list[int], list[int], list[int]]],
) -> tuple[Tensor, Tensor, Tensor]:
    """Padded ids and shapes, and which are real."""
    longest = max(len(row[0]) for row in rows)
    ids = torch.tensor([row[0] + [0] * (longest - len(row[0])) for row in rows])
    shapes = torch.tensor([row[1] + [0] * (longest - len(row[1])) for row in rows])
    mask = torch.tensor([[1.0] * len(row[0]) + [0.0] * (longest - len(row[0])) for row in rows])
    return ids.to(DEVICE), shapes.to(DEVICE), mask.to(DEVICE)


def learn(
    model: Teacher,
    rows: list[tuple[list[int], list[int], list[int]]],
    targets: list[Tensor],
    *,
    seconds: float,
    epochs: int,
    tokens: int,
    rate: float,
    seed: int,
) -> None:
    """AdamW; the rate falls to nothing by the last epoch, or by the end of the time if that is sooner."""
    torch.manual_seed(seed)
    order = random.Random(seed)
    optimiser = torch.optim.AdamW(model.parameters(), lr=rate, weight_decay=0.01)
    lengths = [len(row[0]) for row in rows]
    whole = epochs * sum(1 for _ in batches(lengths, tokens, None))
    began, step = time.monotonic(), 0
    model.train()
    for epoch in range(epochs):
        for group in batches(lengths, tokens, order):
            gone = max(step / whole, (time.monotonic() - began) / seconds)
            if gone >= 1:
                print(f"  out of time at step {step} of {whole}", flush=True)
                return
            for part in optimiser.param_groups:
                part["lr"] = rate * min(1.0, step / (0.05 * whole)) * (1 - gone)
            own = [rows[n] for n in group]
            with torch.autocast(DEVICE, torch.bfloat16, enabled=True):
                logits = model(*tensors(own)).float()
            if model.a_word:
                places = [(n, s) for n, row in enumerate(own) for s in row[2]]
                first, second = (
                    torch.tensor(part, device=DEVICE) for part in zip(*places, strict=True)
                )
                wanted = torch.cat([targets[n] for n in group]).to(DEVICE)
                loss = F.cross_entropy(logits[first, second], wanted, label_smoothing=0.05)
            else:
                wanted = torch.stack([targets[n] for n in group]).to(DEVICE)
                loss = F.binary_cross_entropy_with_logits(logits.squeeze(-1), wanted)
            optimiser.zero_grad(set_to_none=True)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimiser.step()
            step += 1
            if step % 50 == 0:
                print(
                    f"  step {step} of {whole}, epoch {epoch}, loss {loss.item():.3f}, "
                    f"{time.process_time():.0f} s of CPU",
                    flush=True,
                )


@torch.inference_mode()
def ask(
    model: Teacher, rows: list[tuple[list[int], list[int], list[int]]], seconds: float
) -> dict[int, Tensor]:
    """Logits by row, of each word or of the text; rows that time did not allow are missing."""
    model.eval()
    found: dict[int, Tensor] = {}
    began = time.monotonic()
    groups = list(batches([len(row[0]) for row in rows], 32768, None))
    random.Random(SEED).shuffle(groups)
    for group in groups:
        if time.monotonic() - began > seconds:
            break
        own = [rows[n] for n in group]
        with torch.autocast(DEVICE, torch.bfloat16, enabled=True):
            logits = model(*tensors(own)).float().cpu()
        for number, row, values in zip(group, own, logits, strict=True):
            found[number] = values[torch.tensor(row[2])] if model.a_word else values[0]
    return found


def encoder_of(folder: Path) -> BertModel:
    """The teacher's encoder, from what PyPI carries."""
    from safetensors.torch import load_file

    config = BertConfig(**json.loads((folder / "config.json").read_text()))
    model = BertModel(config, add_pooling_layer=False)
    stored = load_file(folder / "model.safetensors")
    kept = {n.removeprefix("bert."): v.float() for n, v in stored.items() if "pooler" not in n}
    missing, _ = model.load_state_dict(kept, strict=False)
    assert all("position_ids" in name for name in missing), missing
    return model


def tagged(path: Path) -> list[tuple[list[str], list[str]]]:
    """Sentences of `word TAB tag` lines, an empty line between them."""
    found = []
    for block in path.read_text("utf-8").strip().split("\n\n"):
        pairs = [line.split("\t") for line in block.split("\n")]
        found.append(([pair[0] for pair in pairs], [pair[1] for pair in pairs]))
    return found


def tags(given: argparse.Namespace) -> None:
    """Learn tags, and tag."""
    reading = Reading(given.encoder)
    model = Teacher(encoder_of(given.encoder), len(TAGS), True).to(DEVICE)
    train, dev = (
        tagged(given.place / "ewt" / f"{part}.tsv")[: given.most] for part in ("train", "dev")
    )
    number = {tag: n for n, tag in enumerate(TAGS)}
    learn(
        model,
        reading.rows([words for words, _ in train]),
        [torch.tensor([number[tag] for tag in own]) for _, own in train],
        seconds=given.seconds,
        epochs=given.epochs or 10,
        tokens=2048,
        rate=2e-4,
        seed=given.seed,
    )
    right = total = 0
    for n, logits in ask(model, reading.rows([words for words, _ in dev]), 60).items():
        guess = [TAGS[k] for k in logits.argmax(-1).tolist()]
        right += sum(map(str.__eq__, guess, dev[n][1]))
        total += len(guess)
    print(f"teacher of tags, dev: {100 * right / total:.2f}", flush=True)
    (given.place / "teacher-tags.json").write_text(json.dumps({"dev": 100 * right / total}))
    lines = (
        (given.place / "english.txt").read_text("utf-8").splitlines()[: given.most or given.lines]
    )
    texts = [words for line in lines if 3 <= len(words := line.split(" ")) <= 50]
    with (given.place / "tags.tsv").open("w", encoding="utf-8") as out:
        for n, logits in ask(model, reading.rows(texts), given.seconds).items():
            out.writelines(
                f"{word}\t{TAGS[k]}\n"
                for word, k in zip(texts[n], logits.argmax(-1).tolist(), strict=True)
            )
            out.write("\n")


def judgements(given: argparse.Namespace) -> None:
    """Learn to judge, and judge."""
    from regard.text.words import words_in as apart

    reading = Reading(given.encoder)
    model = Teacher(encoder_of(given.encoder), 1, False).to(DEVICE)
    soft = [line.split("\t") for line in (given.place / "soft.tsv").read_text("utf-8").splitlines()]
    soft = soft[: given.most]
    learn(
        model,
        reading.rows([apart(text)[:LONGEST] for text, _ in soft]),
        [torch.tensor(float(value)) for _, value in soft],
        seconds=given.seconds,
        epochs=given.epochs or 4,
        tokens=4096,
        rate=1e-4,
        seed=given.seed,
    )
    scores = {}
    for path in sorted((given.place / "tests").glob("*.tsv")):
        test = [line.split("\t") for line in path.read_text("utf-8").splitlines()][: given.most]
        found = ask(model, reading.rows([apart(text) for text, _ in test]), 60)
        right = sum((value.item() > 0) == (test[n][1] == "positive") for n, value in found.items())
        scores[path.stem] = 100 * right / max(1, len(found))
    print("teacher of judgements:", scores, flush=True)
    (given.place / "teacher-judgements.json").write_text(json.dumps(scores))
    texts = (given.place / "unjudged.txt").read_text("utf-8").splitlines()[: given.most]
    rows = reading.rows([apart(text)[:LONGEST] for text in texts])
    chance = random.Random(SEED)
    with (given.place / "judged.tsv").open("w", encoding="utf-8") as out:
        for n, logits in ask(model, rows, given.seconds).items():
            positive = 1 / (1 + math.exp(-logits.item()))
            label = "positive" if chance.random() < positive else "negative"
            out.write(f"{texts[n]}\t{label}\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("tags", "judgements"))
    parser.add_argument("encoder", type=Path)
    parser.add_argument("place", type=Path)
    parser.add_argument(
        "--seconds", type=float, default=1e9, help="for learning, and again for labels"
    )
    parser.add_argument("--lines", type=int, default=250_000, help="to tag")
    parser.add_argument("--epochs", type=int)
    parser.add_argument("--most", type=int, help="of everything, to try it out")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    random.seed(given.seed)
    torch.manual_seed(given.seed)
    (tags if given.what == "tags" else judgements)(given)


if __name__ == "__main__":
    main()
