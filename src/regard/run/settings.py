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
    """The name of a built-in toy to learn instead of files."""
    train: tuple[str, ...] = ()
    """The files to learn from."""
    valid: tuple[str, ...] = ()
    """The files to validate on. Without them some training examples are held out."""
    test: tuple[str, ...] = ()
    """The files for a last score, never learned from."""
    sources: tuple[str, ...] = ()
    """Several sources by name: one file for each before the target's file, or columns of a table or of JSON
    lines."""
    target: str | None = None
    """The name of the target, where there are several sources: the last file, or a column."""
    examples: PositiveInt | None = None
    """The largest number of training examples that are used. By default all are."""
    vectors: str | None = None
    """A file of word vectors in the text form of word2vec or GloVe, with which embeddings begin (L98)."""
    on_bad_utf8: Literal["stop", "skip"] = "stop"
    """Whether reading stops at a line that is not UTF-8, or skips it."""

    @property
    def columns(self) -> Columns | None:
        """Which columns are read and which one is written, where there are several sources."""
        if not self.sources:
            return None
        return Columns(self.sources, self.target or "target")


class TrainSettings(Settings):
    """How to learn. `accumulate` counts global batches a step, whatever the number of machines."""

    steps: PositiveInt = 10_000
    """The largest number of training steps: 100 for a first try, 10,000 to 200,000 for real text."""
    epochs: PositiveInt | None = None
    """The largest number of passes over the training data: 1 to 100. By default only steps count."""
    rate: PositiveFloat = 1e-3
    """The highest learning rate: 1e-4 to 1e-2. For noam it is a factor: 0.5 to 2."""
    schedule: Literal["inverse-sqrt", "noam", "cosine", "constant"] = "inverse-sqrt"
    """How the learning rate falls after the warm-up."""
    warmup: NonNegativeInt = 400
    """The number of steps in which the learning rate rises: 100 to 8,000."""
    betas: tuple[Share, Share] = (0.9, 0.98)
    """The decay rates of AdamW's first and second moment: 0.9 and 0.95 to 0.999."""
    epsilon: PositiveFloat = 1e-9
    """What AdamW adds to its denominator: 1e-9 to 1e-6."""
    decay: NonNegativeFloat = 0.0
    """The weight decay of AdamW, which is multiplied by the learning rate: 0 to 0.1."""
    clip: PositiveFloat = 1.0
    """The largest norm of a gradient. Longer ones are scaled down to it: 0.5 to 5."""
    accumulate: PositiveInt = 1
    """The number of batches whose gradients make one step, whatever the number of processes: 1 to 32."""
    precision: Literal["float32", "bfloat16"] = "float32"
    """The precision of matrix products in training. bfloat16 is for a GPU."""
    compile: bool = False
    """Whether torch compiles the training step, which pays with batch.packed on a GPU."""
    record: bool = True
    """Whether, on one GPU, packed and compiled steps and recurrent ones are recorded as a CUDA graph."""
    deterministic: bool = False
    """Whether the same seed gives the same bits on a GPU too, which is slower. On a CPU it always does."""
    distribute: Literal["ddp", "fsdp"] = "ddp"
    """Whether several processes have copies of the model (ddp) or shards of it (fsdp)."""
    average: Literal["none", "ema", "last"] = "none"
    """Which weights are evaluated and kept: the last step's, their moving average (ema), or the mean of the
    last checkpoints."""
    ema_decay: Share = 0.999
    """The share of the moving average that each step keeps: 0.99 to 0.9999."""
    average_last: PositiveInt = 5
    """The number of checkpoints in the mean of the last: 3 to 20."""
    evaluate_every: PositiveInt = 500
    """The number of steps between two evaluations: 50 to 5,000."""
    evaluate_examples: NonNegativeInt = 100
    """The number of held-out examples that are answered and scored in each evaluation: 100 to 3,000, or 0
    for the loss alone."""
    checkpoint_every: PositiveInt = 500
    """The number of steps between two checkpoints, which is what a kill can cost: 100 to 5,000."""
    log_every: PositiveInt = 20
    """The number of steps between two lines of metrics.jsonl: 1 to 100."""
    keep: PositiveInt = 3
    """The number of checkpoints that are kept, besides that of the best step: 1 to 20."""
    patience: PositiveInt | None = None
    """Training stops after so many evaluations without a better one: 3 to 20. By default it does not stop
    early."""
    best_by: Literal["loss", "score"] = "loss"
    """Whether the best model is the one with the lowest held-out loss, or with the best score."""
    on_spike: Literal["log", "rewind"] = "log"
    """What happens when the loss jumps: it is logged, or the last checkpoint's weights are restored."""
    workers: NonNegativeInt = 2
    """The number of threads that prepare batches: 1 to 4, or 0 to prepare them between the steps."""


class RunSettings(Settings):
    """A run from raw files to a model that answers."""

    task: str = next(iter(DEFAULT_OF))
    """What is learned."""
    seed: NonNegativeInt = 1
    """The seed of every random number. The same seed gives the same run."""
    start: str | None = None
    """A run, or a model that comes with regard, whose vocabulary and weights training starts from."""
    data: DataSettings = DataSettings()
    """What to learn from."""
    text: TextSettings = TextSettings()
    """How text becomes symbols."""
    picture: PictureSettings = PictureSettings()
    """How pictures become columns of pixels."""
    sound: SoundSettings = SoundSettings()
    """How sounds become frames of log-mel features."""
    model: ModelSettings
    """What the model is made of."""
    batch: BatchSettings = BatchSettings()
    """How examples become batches."""
    objective: ObjectiveSettings = ObjectiveSettings()
    """What training minimises."""
    train: TrainSettings = TrainSettings()
    """How the model learns."""
    decode: DecodeSettings = DecodeSettings()
    """How the model answers."""

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
