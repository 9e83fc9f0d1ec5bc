"""Everything that decides a run, as one value: what `config.toml` holds."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import (
    Field,
    NonNegativeFloat,
    NonNegativeInt,
    PositiveFloat,
    PositiveInt,
    model_validator,
)

from regard.config import Settings
from regard.data.batches import BatchSettings
from regard.data.example import TaskName
from regard.decode import DecodeSettings
from regard.models import ModelSettings
from regard.models.settings import TransformerSettings
from regard.text import TextSettings

Share = Annotated[float, Field(ge=0, lt=1)]


class DataSettings(Settings):
    """What to learn from: a built-in toy, or files. Without `valid`, some training examples are held out."""

    toy: str | None = None
    train: tuple[str, ...] = ()
    valid: tuple[str, ...] = ()
    test: tuple[str, ...] = ()
    examples: PositiveInt | None = None  # learn from at most so many
    on_bad_utf8: Literal["stop", "skip"] = "stop"


class TrainSettings(Settings):
    """How to learn. `accumulate` counts global batches a step, whatever the number of machines."""

    steps: PositiveInt = 10_000
    epochs: PositiveInt | None = None
    rate: PositiveFloat = 1e-3
    schedule: Literal["inverse-sqrt", "noam", "cosine", "constant"] = "inverse-sqrt"
    warmup: NonNegativeInt = 400
    betas: tuple[Share, Share] = (0.9, 0.98)
    epsilon: PositiveFloat = 1e-9
    decay: NonNegativeFloat = 0.0
    smoothing: Share = 0.1
    agreement: NonNegativeFloat = 0.0  # of two passes (R-Drop); 5 for small corpora
    clip: PositiveFloat = 1.0
    accumulate: PositiveInt = 1
    precision: Literal["float32", "bfloat16"] = "float32"
    compile: bool = False
    record: bool = True  # packed and compiled, or recurrent steps on one GPU: each a CUDA graph
    deterministic: bool = False
    distribute: Literal["ddp", "fsdp"] = "ddp"
    average: Literal["none", "ema", "last"] = "none"
    ema_decay: Share = 0.999
    average_last: PositiveInt = 5
    evaluate_every: PositiveInt = 500
    evaluate_examples: NonNegativeInt = 100
    checkpoint_every: PositiveInt = 500
    log_every: PositiveInt = 20
    keep: PositiveInt = 3
    patience: PositiveInt | None = None  # evaluations without a better one
    best_by: Literal["loss", "score"] = "loss"
    on_spike: Literal["log", "rewind"] = "log"
    workers: NonNegativeInt = 2


class RunSettings(Settings):
    """A run from raw files to a model that answers."""

    task: TaskName = "translate"
    seed: NonNegativeInt = 1
    start: str | None = None  # a run, or a model in the box: whose vocabulary and weights it takes
    data: DataSettings = DataSettings()
    text: TextSettings = TextSettings()
    model: ModelSettings
    batch: BatchSettings = BatchSettings()
    train: TrainSettings = TrainSettings()
    decode: DecodeSettings = DecodeSettings()

    @model_validator(mode="after")
    def _packs(self) -> RunSettings:
        """Packed rows need parts that ask no more than where a sequence begins."""
        if self.batch.packed and not self.can_pack:
            raise ValueError(
                "batch.packed needs task = 'translate' and Transformers on both sides, with positions "
                "at the input or rotary, and any score but location; leave batch.packed = false"
            )
        return self

    @property
    def can_pack(self) -> bool:
        """Whether rows may lie end to end, which is how a GPU learns fastest."""
        parts = self.model.encoder, self.model.reader
        return self.task == "translate" and all(map(_is_packable, parts))

    def fast(self) -> RunSettings:
        """As a GPU learns fastest, in all that nobody decided: bfloat16, and packed, compiled steps."""
        decided = self.batch.model_fields_set | self.train.model_fields_set
        packed = self.batch.packed if "packed" in decided else self.can_pack
        train = {"precision": "bfloat16", "compile": packed}
        train = {name: value for name, value in train.items() if name not in decided}
        return self.model_copy(
            update={
                "batch": self.batch.model_copy(update={"packed": packed}),
                "train": self.train.model_copy(update=train),
            }
        )


def _is_packable(part: Settings | None) -> bool:
    return (
        isinstance(part, TransformerSettings)
        and part.score != "location"
        and (part.position_at == "input" or part.position in ("none", "rotary", "alibi"))
    )


# Settings a run may change when it goes on: they touch how long and how often, never what is learned.
HARMLESS = (
    "train.steps",
    "train.epochs",
    "train.evaluate_every",
    "train.evaluate_examples",
    "train.checkpoint_every",
    "train.log_every",
    "train.keep",
    "train.patience",
    "train.workers",
    "train.record",
    "decode",
)
