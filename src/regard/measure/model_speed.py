"""Training in target tokens a second, decoding in milliseconds a step, both beside what torch can do."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator, Sequence
from itertools import cycle
from typing import Any

import torch
from torch import Tensor, nn

from regard.accelerate.cpu import lean, multiplies_whole
from regard.decode import DecodeSettings, search
from regard.measure.figures import Cell, Ratio, Seconds, Share, Table
from regard.measure.instruments import Timing, Work, timed
from regard.measure.scene import Scene, TorchTransformer
from regard.models import Model
from regard.run.settings import TrainSettings
from regard.tasks import Batch
from regard.training.optimise import make_optimiser

BATCHES = 3
PEER = "nn.Transformer"
LAUNCHED = (
    " Every kernel here is launched from Python, which is most of the time; `regard train --fast` "
    "records whole steps instead, which bench/train.py measures."
)


def training(scene: Scene, rate: float) -> Iterator[Table]:
    """A step is forward, backward and AdamW; all take the same batches in turns."""
    batches = scene.batches(BATCHES)
    models: dict[str, nn.Module] = {
        PEER: TorchTransformer(scene),
        "regard, Transformer": scene.model("transformer"),
        "regard, RNN with attention": scene.model("rnn"),
    }
    steps = {
        name: _step(scene, model, _loss_of(scene, model), batches) for name, model in models.items()
    }
    times = timed(steps, scene.device, rounds=scene.rounds, seconds=2 * scene.seconds)
    real = sum(batch.count for batch in batches) / len(batches)
    rows = [
        training_row(name, times[name], times[PEER], real, operations(model, real), rate)
        for name, model in models.items()
    ]
    padding = 1 - sum(batch.count for batch in batches) / sum(b.targets.numel() for b in batches)
    yield Table(
        f"Training: {scene.layers} + {scene.layers} layers of width {scene.width}, vocabulary "
        f"{scene.symbols:,}, batches of {scene.tokens:,} places, {scene.device.type}",
        rows,
        f"Ragged rows, {padding:.0%} of the target places padding, which does not count as tokens. "
        "The floor counts the products of weights with real tokens (6 operations a weight and token), not "
        "those of attention with itself." + (LAUNCHED if scene.device.type == "cuda" else ""),
    )


def training_row(
    name: str, own: Timing, peer: Timing, real: float, work: float, rate: float
) -> dict[str, Cell]:
    """One model's figures."""
    return {
        "model": name,
        "step": Seconds(own.median),
        "tokens/s": round(real / own.median),
        f"x {PEER}": Ratio(peer.median / own.median),
        "of the floor": Share(work / own.median / rate),
    }


def operations(model: nn.Module, tokens: float) -> float:
    """Of one step on so many real tokens a side: 2 a weight forward, 4 backward.

    A tied embedding is a product once, where it gives the logits. The side of the source is about as long as
    that of the target, so that all matrices see as many tokens.
    """
    matrices = sum(weight.numel() for weight in model.parameters() if weight.dim() > 1)
    return 6.0 * matrices * tokens


def _loss_of(scene: Scene, model: nn.Module) -> Callable[[Batch], Tensor]:
    if isinstance(model, TorchTransformer):
        return model.loss
    assert isinstance(model, Model)
    return lambda batch: scene.task.loss(model, batch, 0.1)


def _step(
    scene: Scene, model: nn.Module, loss: Callable[[Batch], Tensor], batches: Sequence[Batch]
) -> Callable[[], None]:
    optimiser, turns = make_optimiser(model.train(), TrainSettings()), cycle(batches)

    def step() -> None:
        optimiser.zero_grad(set_to_none=True)
        batch = next(turns)
        with scene.precision():
            value = loss(batch)
        (value / batch.count).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()

    return step


# Decoding: milliseconds a step, greedy and with a beam, one sentence and many, beside what torch can do.

SOURCE = 24
OURS, INT8 = "regard", "regard, int8"
TORCH, HUGGING_FACE = "nn.Transformer, no cache", "Hugging Face Marian"


def decoding(scene: Scene) -> Iterator[Table]:
    """As many symbols for everybody, none of which may be the end."""
    steps = 16 if scene.quick else 32
    cases = [(1, 1), (1, 4), (32, 1), (32, 4)]
    torch_model = TorchTransformer(scene).to(scene.kind).eval()
    other = hugging_face(scene) if importlib.util.find_spec("transformers") else None
    own = own_models(scene)
    rows: list[dict[str, Cell]] = []
    with torch.inference_mode():
        for sentences, beam in cases:
            ids = torch.randint(3, scene.symbols, (sentences, SOURCE), device=scene.device)
            works = {name: _ours(model, ids, beam, steps) for name, model in own.items()}
            if other is not None:
                works[HUGGING_FACE] = _theirs(other, ids, beam, steps)
            if beam == 1:
                works[TORCH] = lambda ids=ids: torch_model.greedy(ids, steps)  # type: ignore[misc]
            times = timed(works, scene.device, rounds=scene.rounds, warmup=1, seconds=scene.seconds)
            rows += decoding_rows(sentences, beam, steps, times)
    yield Table(
        f"Decoding {steps} symbols: {scene.layers} + {scene.layers} layers of width {scene.width}, "
        f"{scene.device.type}",
        rows,
        "x is how many times as long as regard it takes. nn.Transformer has no cache and no beam.",
    )


def own_models(scene: Scene) -> dict[str, Model]:
    """The model as it answers here: in half precision on a GPU, packed and also in int8 on a processor."""
    model = scene.model("transformer").to(scene.kind).eval()
    if scene.on_gpu:
        return {OURS: model}
    whole = lean(model, "int8") if multiplies_whole() else None
    return {OURS: lean(model) or model, **({INT8: whole} if whole is not None else {})}


def decoding_rows(
    sentences: int, beam: int, steps: int, times: dict[str, Timing]
) -> list[dict[str, Cell]]:
    """One row a program."""
    own = times[OURS].median
    return [
        {
            "sentences": sentences,
            "beam": beam,
            "program": name,
            "a step": Seconds(one.median / steps),
            "symbols/s": round(sentences * steps / one.median),
            "x": Ratio(one.median / own) if name != OURS else None,
        }
        for name, one in times.items()
    ]


def hugging_face(scene: Scene) -> Any:
    """MarianMT of the same size, with first weights."""
    from transformers import MarianConfig, MarianMTModel

    config = MarianConfig(
        vocab_size=scene.symbols,
        d_model=scene.width,
        encoder_layers=scene.layers,
        decoder_layers=scene.layers,
        encoder_attention_heads=scene.heads,
        decoder_attention_heads=scene.heads,
        encoder_ffn_dim=scene.inner,
        decoder_ffn_dim=scene.inner,
        max_position_embeddings=512,
        pad_token_id=0,
        eos_token_id=2,
        decoder_start_token_id=1,
        forced_eos_token_id=None,
    )
    model: Any = MarianMTModel(config)
    return model.to(scene.device, scene.kind).eval()


def _ours(model: Model, ids: torch.Tensor, beam: int, steps: int) -> Work:
    settings = DecodeSettings(beam=beam, min_length=steps, max_length=steps)
    return lambda: search(model.decoder, model.encode(ids), settings)


def _theirs(model: Any, ids: torch.Tensor, beam: int, steps: int) -> Work:
    seen = torch.ones_like(ids)
    return lambda: model.generate(
        ids,
        attention_mask=seen,
        num_beams=beam,
        do_sample=False,
        min_new_tokens=steps,
        max_new_tokens=steps,
    )
