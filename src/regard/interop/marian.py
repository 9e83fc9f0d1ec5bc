"""A Marian folder (OPUS-MT) as a run of ours: the same numbers in our modules, the same pieces in our codec.

Ids are ordered as ours are: padding, begin, end, unknown, the tags of languages, then all other pieces.
Marian begins to write with its padding symbol, so our begin symbol has that row of the table. Neither may be
said, nor a piece that the vocabulary lacks, which has the row of the unknown one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, final

import torch
from torch import Tensor

from regard.errors import ModelFileError
from regard.interop.incoming import ACTIVATIONS, UNSAID, json_of, refuse_where, refused, stack_of
from regard.interop.spm import NORMAL, SentencePiece
from regard.models import Model, ModelSettings, TransformerReaderSettings, TransformerSettings
from regard.run.settings import RunSettings
from regard.settings.decode import DecodeSettings
from regard.tasks import Task, Translate
from regard.text import BEGIN, PAD, Codec, TextSettings
from regard.text.vocabulary import NEVER, SPECIALS, Vocabulary

KIND = "Marian"
_TAG = re.compile(r">>[A-Za-z][\w-]*<<")
_HEADS = (("query", "q_proj"), ("key", "k_proj"), ("value", "v_proj"), ("output", "out_proj"))


@final
@dataclass(frozen=True, eq=False)
class Marian:
    """A folder's configuration and vocabulary, and which of its rows each of our ids has."""

    folder: Path
    config: Mapping[str, Any]
    generation: Mapping[str, Any]
    pieces: tuple[str, ...]  # by our ids
    rows: tuple[int, ...]  # of the folder's table, by our ids
    said: frozenset[int]  # our ids that may be said
    opener: ClassVar[str] = "AutoModelForSeq2SeqLM"

    @classmethod
    def open(cls, folder: Path, config: Mapping[str, Any]) -> Marian:
        """Read the vocabulary, and refuse by clause what our modules do not hold."""
        _refuse_others(folder, config)
        known = json_of(folder / "vocab.json")
        if not all(isinstance(number, int) for number in known.values()):
            raise ModelFileError("a vocabulary has numbers", str(folder / "vocab.json"), "mend it")
        pad, end, unknown = (known.get(name) for name in ("<pad>", "</s>", "<unk>"))
        if None in (pad, end, unknown) or config["decoder_start_token_id"] != pad:
            raise refused(folder, KIND, "it does not begin to write with <pad>")
        tags = tuple(name for name in known if _TAG.fullmatch(name))
        apart = {*tags, "<pad>", "</s>", "<unk>"}
        others = [name for name in sorted(known, key=known.__getitem__) if name not in apart]
        missing = _missing(folder, known)
        names = (*SPECIALS, *tags, *others, *missing)
        rows = [pad, pad, end, unknown, *(known[name] for name in (*tags, *others))]
        rows += [unknown] * len(missing)
        said = frozenset(range(len(rows) - len(missing))) - {PAD, BEGIN}
        pieces = tuple(name.replace("▁", " ") for name in names)
        generation = json_of(folder / "generation_config.json", {})
        return cls(folder, config, generation, pieces, tuple(rows), said)

    @property
    def columns(self) -> tuple[int, ...]:
        """An output a piece."""
        return self.rows

    @property
    def tags(self) -> tuple[str, ...]:
        """The languages that can be asked for, as their symbols."""
        return tuple(piece for piece in self.pieces if _TAG.fullmatch(piece))

    def task(self) -> Translate:
        """Both sides number their pieces alike, and each cuts by its own model."""
        return Translate(self._codec("source"), self._codec("target"))

    def _codec(self, side: str) -> Codec:
        model = SentencePiece.read(self.folder / f"{side}.spm")
        scores = {p.text.replace("▁", " "): p.score for p in model.pieces if p.kind == NORMAL}
        first = len(SPECIALS) + len(self.tags)
        weights = [0.0] * first + [
            min(0.0, max(scores.get(piece, NEVER), NEVER)) for piece in self.pieces[first:]
        ]
        return Codec(Vocabulary(self.text, self.pieces, (), tuple(weights), model.charmap))

    @property
    def text(self) -> TextSettings:
        """How text is cut."""
        return TextSettings(
            kind="sentencepiece", vocabulary=len(self.pieces), shared=True, symbols=self.tags
        )

    def settings(self) -> RunSettings:
        """What our modules need to be the same model, and how it answers by its own settings."""
        generation = {**self.config, **self.generation}
        return RunSettings(
            task=Translate.name,
            text=self.text,
            model=ModelSettings(
                encoder=TransformerSettings(**self._stack("encoder")),
                reader=TransformerReaderSettings(**self._stack("decoder"), output_bias=True),
            ),
            decode=DecodeSettings(
                beam=generation.get("num_beams", 1),
                penalty="average",
                alpha=generation.get("length_penalty", 1.0),
                max_length=self.config["max_position_embeddings"] - 1,
            ),
        )

    def _stack(self, side: str) -> dict[str, Any]:
        own = stack_of(self.config, side)
        return {**own, "norm": "post", "position": "sinusoidal-halves"}

    @torch.no_grad()
    def fill(self, model: Model, weights: Mapping[str, Tensor]) -> None:
        """The folder's numbers in our modules."""
        own = dict(model.named_parameters())
        for ours, theirs in self._names():
            if theirs not in weights or weights[theirs].shape != own[ours].shape:
                raise refused(
                    self.folder, KIND, f"its weights lack '{theirs}', or it has another size"
                )
            own[ours].copy_(weights[theirs])
        rows = torch.tensor(self.rows)
        own["encoder.embedding.table.weight"].copy_(weights["model.shared.weight"][rows])
        bias = weights["final_logits_bias"][0, rows].float()
        unsaid = [number for number in range(len(rows)) if number not in self.said]
        bias[unsaid] = UNSAID
        own["reader.output.bias"].copy_(bias)

    def source(self, task: Task, text: str) -> list[int]:
        """The text that is read."""
        return [int(number) for number in task.encode(text)]

    def forced(self, theirs: Any, source: Tensor, said: Tensor) -> Tensor:
        """All steps at once."""
        inputs = torch.cat([torch.tensor([self.rows[BEGIN]]), said[:-1]])
        return theirs(input_ids=source[None], decoder_input_ids=inputs[None]).logits[0]

    def _names(self) -> Iterator[tuple[str, str]]:
        """Our names of all weights but the table's, and theirs."""
        for ours, theirs in (("encoder", "encoder"), ("reader", "decoder")):
            for layer in range(self.config[f"{theirs}_layers"]):
                mine, other = f"{ours}.blocks.{layer}", f"model.{theirs}.layers.{layer}"
                parts = [("attention", "self_attn"), ("cross", "encoder_attn")]
                for part, name in parts if ours == "reader" else parts[:1]:
                    yield from _both(f"{mine}.{part}_residual.norm", f"{other}.{name}_layer_norm")
                    for own, linear in _HEADS:
                        yield from _both(f"{mine}.{part}.{own}", f"{other}.{name}.{linear}")
                yield from _both(f"{mine}.feedforward.widen", f"{other}.fc1")
                yield from _both(f"{mine}.feedforward.narrow", f"{other}.fc2")
                yield from _both(f"{mine}.feedforward_residual.norm", f"{other}.final_layer_norm")


def _both(ours: str, theirs: str) -> Iterator[tuple[str, str]]:
    for part in ("weight", "bias"):
        yield f"{ours}.{part}", f"{theirs}.{part}"


def _missing(folder: Path, known: Mapping[str, Any]) -> tuple[str, ...]:
    """Pieces that text is cut into and the vocabulary lacks: unknown, but cut as they are."""
    missing: dict[str, None] = {}
    for side in ("source", "target"):
        for piece in SentencePiece.read(folder / f"{side}.spm").pieces:
            if piece.kind == NORMAL and piece.text not in known and piece.text not in SPECIALS:
                missing[piece.text] = None
    return tuple(missing)


def _refuse_others(folder: Path, config: Mapping[str, Any]) -> None:
    shape = ("d_model", "max_position_embeddings", "decoder_start_token_id", "activation_function")
    sides = [f"{side}_{name}" for side in ("encoder", "decoder") for name in _SIZES]
    lacking = [name for name in (*shape, *sides) if name not in config]
    clauses: dict[str, bool] = {
        f"its configuration lacks {', '.join(lacking)}": bool(lacking),
        f"activation '{config.get('activation_function')}' is not known here": (
            config.get("activation_function") not in ACTIVATIONS
        ),
        "source and target have tables of their own": (
            not config.get("share_encoder_decoder_embeddings", True)
        ),
        "the output has a table of its own": not config.get("tie_word_embeddings", True),
        "positions are learned": not config.get("static_position_embeddings", True),
    }
    refuse_where(folder, KIND, clauses)


_SIZES = ("layers", "attention_heads", "ffn_dim")
