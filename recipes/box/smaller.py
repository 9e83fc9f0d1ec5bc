"""A small BERT out of a larger one: its lower layers, frequent pieces, part of each feedforward.

    python recipes/box/smaller.py ENCODER OUT TEXT... [--pieces 3650] [--layers 2] [--inner 512]

ENCODER is a folder with `config.json`, `tokenizer.json` and `model.safetensors` of a BERT. TEXT are files
whose first column (up to a tab) is text: pieces that are frequent there are kept, and all single signs of
ASCII, so that hardly a word is unknown. Of each feedforward those inner numbers stay that most move its
output on these texts. OUT is a folder for `regard models import`; its head of masked words is not trained.
"""

from __future__ import annotations

import argparse
import json
import random
from collections import Counter
from pathlib import Path

import torch
from safetensors.torch import save_file
from teacher import encoder_of
from tokenizers import Tokenizer
from transformers import BertConfig, BertForMaskedLM, BertModel

SPECIALS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
PROBES = 1500  # texts that say which inner numbers matter


def kept_pieces(tokenizer: Tokenizer, lines: list[str], most: int) -> list[str]:
    """Specials, single characters of ASCII, then what is most frequent."""
    known = tokenizer.get_vocab()
    counts: Counter[str] = Counter()
    for encoded in tokenizer.encode_batch(lines, add_special_tokens=False):
        counts.update(encoded.tokens)
    signs = [chr(code) for code in range(33, 127)]
    first = [sign for sign in signs if sign in known]
    first += [f"##{sign}" for sign in signs if f"##{sign}" in known]
    chosen = dict.fromkeys([*SPECIALS, *first])
    for piece, _ in counts.most_common():
        if len(chosen) < most:
            chosen.setdefault(piece)
    return sorted(chosen, key=lambda piece: (piece not in SPECIALS, known[piece]))


@torch.inference_mode()
def moved(
    model: BertModel, tokenizer: Tokenizer, lines: list[str], layers: int
) -> list[torch.Tensor]:
    """For each inner number of each layer: how far it moves the output, summed over the texts."""
    sums = [torch.zeros(layer.intermediate.dense.out_features) for layer in model.encoder.layer]

    def hook(number: int):
        def add(_module: object, _inputs: object, out: torch.Tensor) -> None:
            sums[number] += out.abs().flatten(0, -2).sum(0)

        return add

    held = [
        layer.intermediate.register_forward_hook(hook(n))
        for n, layer in enumerate(model.encoder.layer[:layers])
    ]
    for line in lines:
        ids = tokenizer.encode(line).ids[:64]
        model(input_ids=torch.tensor([ids]))
    for one in held:
        one.remove()
    return [
        total * layer.output.dense.weight.norm(dim=0)
        for total, layer in zip(sums, model.encoder.layer, strict=True)
    ][:layers]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("encoder", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("text", type=Path, nargs="+")
    parser.add_argument("--pieces", type=int, default=3650)
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--inner", type=int, default=512)
    parser.add_argument("--longest", type=int, default=512)
    given = parser.parse_args()
    tokenizer = Tokenizer.from_file(str(given.encoder / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    lines = [
        line.partition("\t")[0]
        for path in given.text
        for line in path.read_text("utf-8").splitlines()
    ]
    pieces = kept_pieces(tokenizer, lines, given.pieces)
    large = encoder_of(given.encoder).eval()
    large.encoder.layer = large.encoder.layer[: given.layers]
    random.Random(1).shuffle(lines)
    heavy = moved(large, tokenizer, lines[:PROBES], given.layers)
    config = BertConfig(
        **json.loads((given.encoder / "config.json").read_text())
        | {
            "architectures": ["BertForMaskedLM"],
            "vocab_size": len(pieces),
            "num_hidden_layers": given.layers,
            "intermediate_size": given.inner,
            "max_position_embeddings": given.longest,
        }
    )
    torch.manual_seed(1)
    small = BertForMaskedLM(config)
    rows = torch.tensor([tokenizer.token_to_id(piece) for piece in pieces])
    weights = large.state_dict()
    found: dict[str, torch.Tensor] = {}
    for name, own in small.bert.state_dict().items():
        value = weights[name]
        if name == "embeddings.word_embeddings.weight":
            value = value[rows]
        elif "position_embeddings" in name:
            value = value[: given.longest]
        elif ".intermediate." in name or (
            ".output.dense.weight" in name and "attention" not in name
        ):
            layer = int(name.split(".")[2])
            stays = heavy[layer].topk(given.inner).indices.sort().values
            value = value[stays] if ".intermediate." in name else value[:, stays]
        assert value.shape == own.shape, name
        found[name] = value
    small.bert.load_state_dict(found)
    given.out.mkdir(parents=True, exist_ok=True)
    stored = {
        name: value.contiguous().clone()
        for name, value in small.state_dict().items()
        if "decoder.weight" not in name
    }
    save_file(stored, given.out / "model.safetensors", metadata={"format": "pt"})
    (given.out / "config.json").write_text(config.to_json_string(), "utf-8")
    (given.out / "vocab.txt").write_text("\n".join(pieces) + "\n", "utf-8")
    (given.out / "tokenizer_config.json").write_text('{"do_lower_case": true}', "utf-8")
    shares = [float(one.topk(given.inner).values.sum() / one.sum()) for one in heavy]
    total = sum(value.numel() for name, value in small.bert.state_dict().items())
    print(f"{len(pieces)} pieces, {total:,} numbers; of each feedforward's movement stay {shares}")


if __name__ == "__main__":
    main()
