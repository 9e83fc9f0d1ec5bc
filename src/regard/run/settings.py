"""Everything that decides a run, as one value: what `config.toml` holds."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import (
    Field,
    NonNegativeFloat,
    NonNegativeInt,
    PositiveFloat,
    PositiveInt,
    field_validator,
    model_validator,
)

from regard.config import Settings
from regard.data.batches import BatchSettings
from regard.data.example import Columns
from regard.data.image import PictureSettings
from regard.data.sound import SoundSettings
from regard.presets import DEFAULT_OF
from regard.settings.architecture import ModelSettings, StackSettings
from regard.settings.decode import DecodeSettings, ObjectiveSettings
from regard.tasks.names import PACKS
from regard.text import TextSettings

Share = Annotated[float, Field(ge=0, lt=1)]


class DataSettings(Settings):
    """What to learn from: a built-in toy, or files. Without `valid`, some training examples are held out."""

    toy: str | None = None
    """Learn a built-in toy instead of files."""
    train: tuple[str, ...] = ()
    """Files to learn from."""
    valid: tuple[str, ...] = ()
    """Files to validate on; without them some examples are held out."""
    test: tuple[str, ...] = ()
    """Files for a last score, never learned from."""
    sources: tuple[str, ...] = ()
    """Several sources by name: a file each before the target's file, or columns of a table or JSON lines."""
    target: str | None = None
    """The name of the target, where there are several sources: the last file, or a column."""
    examples: PositiveInt | None = None
    """Learn from at most so many."""
    vectors: str | None = None
    """A file of word vectors in the text form of word2vec or GloVe, with which the tables begin (L98)."""
    on_bad_utf8: Literal["stop", "skip"] = "stop"
    """What to do at a line that is not UTF-8."""

    @property
    def columns(self) -> Columns | None:
        """Which columns are read and which one is written, where there are several sources."""
        if not self.sources:
            return None
        return Columns(self.sources, self.target or "target")


class TrainSettings(Settings):
    """How to learn. `accumulate` counts global batches a step, whatever the number of machines."""

    steps: PositiveInt = 10_000
    """The most steps."""
    epochs: PositiveInt | None = None
    """The most passes through the data."""
    rate: PositiveFloat = 1e-3
    """The highest learning rate; of noam, a factor."""
    schedule: Literal["inverse-sqrt", "noam", "cosine", "constant"] = "inverse-sqrt"
    """How the rate falls after the warm-up."""
    warmup: NonNegativeInt = 400
    """Steps in which the rate rises."""
    betas: tuple[Share, Share] = (0.9, 0.98)
    """How slowly AdamW's two moments forget."""
    epsilon: PositiveFloat = 1e-9
    """Added to what AdamW divides by."""
    decay: NonNegativeFloat = 0.0
    """How much weights shrink a step, times the rate."""
    clip: PositiveFloat = 1.0
    """The longest a gradient may be."""
    accumulate: PositiveInt = 1
    """Batches a step, whatever the number of processes."""
    precision: Literal["float32", "bfloat16"] = "float32"
    """Of products; bfloat16 is for a GPU."""
    compile: bool = False
    """Let torch compile the step; pays with batch.packed on a GPU."""
    record: bool = True
    """On one GPU take packed, compiled steps and recurrent ones each as one CUDA graph."""
    deterministic: bool = False
    """The same bits again, and slower; on a CPU they are anyway."""
    distribute: Literal["ddp", "fsdp"] = "ddp"
    """Over several processes: copies of the model, or shards of it."""
    average: Literal["none", "ema", "last"] = "none"
    """Weights that are judged and kept: as they are, their moving average, or the mean of the last."""
    ema_decay: Share = 0.999
    """How slowly the moving average forgets."""
    average_last: PositiveInt = 5
    """Checkpoints in the mean of the last."""
    evaluate_every: PositiveInt = 500
    """Steps between evaluations."""
    evaluate_examples: NonNegativeInt = 100
    """Held-out examples answered and scored each time; 0 for the loss alone."""
    checkpoint_every: PositiveInt = 500
    """Steps between checkpoints; what a kill can cost."""
    log_every: PositiveInt = 20
    """Steps between two lines of the record."""
    keep: PositiveInt = 3
    """Checkpoints kept, besides that of the best step."""
    patience: PositiveInt | None = None
    """Stop after so many evaluations without a better one."""
    best_by: Literal["loss", "score"] = "loss"
    """What makes a model the best."""
    on_spike: Literal["log", "rewind"] = "log"
    """When the loss jumps: tell it, or go back to the last checkpoint's weights."""
    workers: NonNegativeInt = 2
    """Threads that prepare batches; with 0 training waits for each."""


class RunSettings(Settings):
    """A run from raw files to a model that answers."""

    task: str = next(iter(DEFAULT_OF))
    """What is learned."""
    seed: NonNegativeInt = 1
    """The seed of every random number: the same seed, the same run."""
    start: str | None = None
    """A run, or a model in the box: whose vocabulary and weights it takes."""
    data: DataSettings = DataSettings()
    """What to learn from."""
    text: TextSettings = TextSettings()
    """How text becomes symbols."""
    picture: PictureSettings = PictureSettings()
    """How pictures become columns of pixels."""
    sound: SoundSettings = SoundSettings()
    """How sounds become frames of log-mel features."""
    model: ModelSettings
    """What it is made of."""
    batch: BatchSettings = BatchSettings()
    """How examples are put together."""
    objective: ObjectiveSettings = ObjectiveSettings()
    """What training minimises."""
    train: TrainSettings = TrainSettings()
    """How it learns."""
    decode: DecodeSettings = DecodeSettings()
    """How it answers."""

    @field_validator("task")
    @classmethod
    def _is_known(cls, task: str) -> str:
        if task not in DEFAULT_OF:
            raise ValueError(f"there is no task '{task}'; choose {', '.join(DEFAULT_OF)}")
        return task

    @model_validator(mode="before")
    @classmethod
    def _of_version_1(cls, tree: Any) -> Any:
        """Version 0.1 kept two terms of the objective under `train`."""
        if not isinstance(tree, dict):
            return tree
        train, objective = tree.get("train"), tree.get("objective", {})
        if not isinstance(train, dict) or not isinstance(objective, dict):
            return tree
        moved = {name: train[name] for name in ("smoothing", "agreement") if name in train}
        rest = {name: value for name, value in train.items() if name not in moved}
        return {**tree, "train": rest, "objective": {**moved, **objective}} if moved else tree

    @model_validator(mode="before")
    @classmethod
    def _with_gates(cls, tree: Any) -> Any:
        """A price for open heads (`objective.l0`) is for gates that can close: all, if none is named."""
        match tree:
            case {"objective": {"l0": float(price) | int(price)}, "model": dict(model)} if (
                price > 0
            ):
                sides = {
                    name: side
                    for name, side in model.items()
                    if isinstance(side, dict) and side.get("kind") == "transformer"
                }
                if any(side.get("gates") == "learned" for side in sides.values()):
                    return tree
                gated = {name: {**side, "gates": "learned"} for name, side in sides.items()}
                return {**tree, "model": {**model, **gated}}
        return tree

    @model_validator(mode="after")
    def _packs(self) -> RunSettings:
        """Packed rows need parts that ask no more than where a sequence begins."""
        if self.batch.packed and not self.can_pack:
            raise ValueError(
                f"batch.packed needs task = {' or '.join(map(repr, PACKS))} and Transformers on both sides, "
                "with self-attention, positions at the input or rotary, and any score but location; leave "
                "batch.packed = false"
            )
        return self

    @property
    def can_pack(self) -> bool:
        """Whether rows may lie end to end, which is how a GPU learns fastest."""
        parts = self.model.encoder, self.model.reader
        bare = not self.model.noise.is_any and self.model.bottleneck is None
        return bare and self.task in PACKS and all(map(_is_packable, parts))

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
        isinstance(part, StackSettings)
        and getattr(part, "mixing", "attention") == "attention"
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
