"""One peer of bench/decode_cpu.py: a JSON line in, a decoding, a JSON line out, until the input ends."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

WIDTH, LAYERS, HEADS, INNER, SYMBOLS = 512, 6, 8, 2048, 16_000
Decode = Callable[[list[list[int]], int, int], int]  # sources, beam, length -> symbols written


def memory() -> float:
    """The most this process ever held, in MB."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) / 1024
    return float("nan")


def sources(batch: int, length: int) -> list[list[int]]:
    """Symbols that are no special ones."""
    return [
        [5 + (row * 7919 + place * 104729) % (SYMBOLS - 5) for place in range(length)]
        for row in range(batch)
    ]


def ours(name: str, folder: str) -> Decode:
    """This library: the plain model, or the lean one made from a file as a run has it."""
    import torch

    from regard.accelerate.cpu import lean
    from regard.decode import DecodeSettings, search
    from regard.models import ModelSettings, Sizes, build
    from regard.run.load import outline

    side = {
        "kind": "transformer",
        "width": WIDTH,
        "layers": LAYERS,
        "heads": HEADS,
        "feedforward": INNER,
    }
    settings = ModelSettings.model_validate({"encoder": side, "reader": side})
    sizes = Sizes(source=SYMBOLS, target=SYMBOLS, shared=True)
    kind = name.removeprefix("regard ")
    if kind == "int8":
        path = Path(folder) / "int8.safetensors"
        elsewhere("write", str(path))
        model_outline, state = outline(path, settings, sizes)
        made = lean(model_outline, "int8", state)
    else:
        torch.manual_seed(1)
        made = build(settings, sizes).eval()
        made = made if kind == "plain" else lean(made, "float32")
    assert made is not None
    model = made

    def decode(rows: list[list[int]], beam: int, length: int) -> int:
        with torch.inference_mode():
            chosen = DecodeSettings(beam=beam, min_length=length, max_length=length)
            source = torch.tensor(rows)
            encoded = model.encode(source, torch.full((len(rows),), source.shape[1]))
            found = search(model.decoder, encoded, chosen)
        return sum(len(row[0].tokens) for row in found)

    return decode


def elsewhere(*work: str) -> None:
    """Files are written by another process, whose memory is not counted here."""
    subprocess.run([sys.executable, __file__, *work], check=True)


def write(path: str) -> None:
    """Random weights as a packed run has them."""
    import torch

    from regard.models import ModelSettings, Sizes, build
    from regard.models.compress import narrowed
    from regard.run import weights

    side = {
        "kind": "transformer",
        "width": WIDTH,
        "layers": LAYERS,
        "heads": HEADS,
        "feedforward": INNER,
    }
    torch.manual_seed(1)
    settings = ModelSettings.model_validate({"encoder": side, "reader": side})
    model = build(settings, Sizes(source=SYMBOLS, target=SYMBOLS, shared=True))
    weights.write(Path(path), narrowed(model.state_dict(), "int8"))


def hugging_face() -> Decode:
    """MarianMT with its default cache."""
    import torch
    from transformers import MarianConfig, MarianMTModel

    torch.manual_seed(1)
    config = MarianConfig(
        vocab_size=SYMBOLS,
        d_model=WIDTH,
        encoder_layers=LAYERS,
        decoder_layers=LAYERS,
        encoder_attention_heads=HEADS,
        decoder_attention_heads=HEADS,
        encoder_ffn_dim=INNER,
        decoder_ffn_dim=INNER,
        max_position_embeddings=512,
        pad_token_id=0,
        eos_token_id=2,
        decoder_start_token_id=1,
        forced_eos_token_id=None,
        activation_function="relu",
    )
    model = MarianMTModel(config).eval()

    def decode(rows: list[list[int]], beam: int, length: int) -> int:
        source = torch.tensor(rows)
        with torch.inference_mode():
            found = model.generate(
                source,
                attention_mask=torch.ones_like(source),
                num_beams=beam,
                do_sample=False,
                min_new_tokens=length,
                max_new_tokens=length,
                early_stopping=False,
            )
        return len(rows) * (found.shape[1] - 1)

    return decode


def convert(compute: str, folder: str) -> None:
    """Random weights of the same sizes as CTranslate2 has them."""
    import ctranslate2 as peer
    import numpy as np

    spec = peer.specs.TransformerSpec.from_config(
        (LAYERS, LAYERS), HEADS, pre_norm=True, activation=peer.specs.common_spec.Activation.RELU
    )
    chance = np.random.default_rng(1)

    def linear(layer: Any, rows: int, columns: int) -> None:
        layer.weight = chance.normal(0, columns**-0.5, (rows, columns)).astype(np.float32)
        layer.bias = np.zeros(rows, np.float32)

    def norm(layer: Any) -> None:
        layer.gamma, layer.beta = np.ones(WIDTH, np.float32), np.zeros(WIDTH, np.float32)

    def attention(layer: Any, *widths: int) -> None:
        norm(layer.layer_norm)
        for part, rows in zip(layer.linear, widths, strict=True):
            linear(part, rows, WIDTH)

    for side in (spec.encoder, spec.decoder):
        embeddings = side.embeddings[0] if isinstance(side.embeddings, list) else side.embeddings
        embeddings.weight = chance.normal(0, WIDTH**-0.5, (SYMBOLS, WIDTH)).astype(np.float32)
        side.scale_embeddings = True
        side.position_encodings.encodings = chance.normal(0, 1, (512, WIDTH)).astype(np.float32)
        norm(side.layer_norm)
        for layer in side.layer:
            attention(layer.self_attention, 3 * WIDTH, WIDTH)
            norm(layer.ffn.layer_norm)
            linear(layer.ffn.linear_0, INNER, WIDTH)
            linear(layer.ffn.linear_1, WIDTH, INNER)
    for layer in spec.decoder.layer:
        attention(layer.attention, WIDTH, 2 * WIDTH, WIDTH)
    linear(spec.decoder.projection, SYMBOLS, WIDTH)
    words = names()
    spec.register_source_vocabulary(words)
    spec.register_target_vocabulary(words)
    spec.config.decoder_start_token = "<s>"
    spec.validate()
    spec.optimize(quantization=compute)
    place = Path(folder) / f"ctranslate2-{compute}"
    place.mkdir()
    spec.save(str(place))


def names() -> list[str]:
    """The vocabulary."""
    return ["<pad>", "<s>", "</s>", "<unk>", *(f"w{n}" for n in range(4, SYMBOLS))]


def ctranslate2(compute: str, folder: str, threads: int) -> Decode:
    """CTranslate2 with whole sentences in a batch."""
    elsewhere("convert", compute, folder)
    import ctranslate2 as peer

    words, place = names(), str(Path(folder) / f"ctranslate2-{compute}")
    model = peer.Translator(
        place, "cpu", compute_type=compute, inter_threads=1, intra_threads=threads
    )

    def decode(rows: list[list[int]], beam: int, length: int) -> int:
        found = model.translate_batch(
            [[words[number] for number in row] for row in rows],
            beam_size=beam,
            min_decoding_length=length,
            max_decoding_length=length,
            max_batch_size=0,
        )
        return sum(len(result.hypotheses[0]) for result in found)

    return decode


def make(name: str, folder: str, threads: int) -> Decode:
    """The peer of this name."""
    if not name.startswith("CTranslate2"):
        import torch

        torch.set_num_threads(threads)
        return hugging_face() if name == "HF Marian" else ours(name, folder)
    return ctranslate2(name.removeprefix("CTranslate2 "), folder, threads)


def main() -> None:
    """Answer until there are no more questions."""
    if sys.argv[1] in ("write", "convert"):
        (write if sys.argv[1] == "write" else convert)(*sys.argv[2:])
        return
    decode, fault = None, ""
    try:
        decode = make(sys.argv[1], sys.argv[2], int(sys.argv[3]))
    except Exception as found:  # one failing peer must not lose the others
        fault = f"{type(found).__name__}: {found}"[:300]
    for line in sys.stdin:
        asked = json.loads(line)
        answer: dict[str, Any] = {"failed": fault}
        if decode is not None:
            try:
                rows = sources(asked["batch"], asked["source"])
                wall, cpu = time.perf_counter(), time.process_time()
                tokens = decode(rows, asked["beam"], asked["target"])
                wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
                answer = {"tokens": tokens, "wall": wall, "cpu": cpu, "rss_mb": memory()}
            except Exception as found:
                answer = {"failed": f"{type(found).__name__}: {found}"[:300]}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
