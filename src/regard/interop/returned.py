"""Translators that `regard export` wrote come back: Pegasus, mBART, BART and Marian with a tokenizer of ours.

Their tables of positions are read as they stand, and so are learned here, up to their last row; Marian's are
sines, then cosines. A summary is a translation into the same vocabulary.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, final

import torch
from torch import Tensor

from regard.interop.incoming import (
    ACTIVATIONS,
    fill_blocks,
    json_of,
    put,
    refuse_where,
    refused,
    stack_of,
    tensor_of,
)
from regard.interop.to_huggingface import SHIFTS
from regard.interop.tokenizer_out import codec_of
from regard.models import Model, ModelSettings, TransformerReaderSettings, TransformerSettings
from regard.run.settings import RunSettings
from regard.settings.decode import DecodeSettings
from regard.tasks import Task, Translate
from regard.text import BEGIN, Codec

_POST, _NORMED = ("bart", "marian"), ("bart", "mbart")
_SIDES = (("encoder", "encoder"), ("reader", "decoder"))  # ours and theirs
_SIZES = ("layers", "attention_heads", "ffn_dim")


@final
@dataclass(frozen=True, eq=False)
class Returned:
    """A folder's configuration, and the vocabulary that left with it."""

    folder: Path
    config: Mapping[str, Any]
    codec: Codec
    opener: ClassVar[str] = "AutoModelForSeq2SeqLM"

    @classmethod
    def open(cls, folder: Path, config: Mapping[str, Any]) -> Returned:
        """Read the vocabulary, and refuse by clause what our modules do not hold."""
        kind, own = str(config["model_type"]), codec_of(folder)
        if own is None:
            raise refused(folder, kind, "its tokenizer is not one that regard wrote")
        sides = [f"{side}_{name}" for side in ("encoder", "decoder") for name in _SIZES]
        wanted = ("d_model", "max_position_embeddings", "activation_function", *sides)
        lacking = [name for name in wanted if name not in config]
        activation = config.get("activation_function")
        clauses = {
            f"its configuration lacks {', '.join(lacking)}": bool(lacking),
            f"activation '{activation}' is not known here": activation not in ACTIVATIONS,
            "it does not begin to write with <s>": config.get("decoder_start_token_id") != BEGIN,
        }
        refuse_where(folder, kind, clauses)
        return cls(folder, config, own)

    @property
    def kind(self) -> str:
        """Which architecture it is."""
        return str(self.config["model_type"])

    @property
    def rows(self) -> tuple[int, ...]:
        """Ids are ours already."""
        return tuple(range(self.codec.size))

    @property
    def columns(self) -> tuple[int, ...]:
        """An output a piece."""
        return self.rows

    @property
    def said(self) -> frozenset[int]:
        """Every piece."""
        return frozenset(self.rows)

    def task(self) -> Translate:
        """Both sides are cut alike."""
        return Translate(self.codec, self.codec)

    @property
    def _tied(self) -> bool:
        return bool(self.config.get("tie_word_embeddings", True))

    def settings(self) -> RunSettings:
        """What our modules need to be the same model, and how it answers by its own settings."""
        generation = {**self.config, **json_of(self.folder / "generation_config.json", {})}
        longest = self.config["max_position_embeddings"]
        return RunSettings(
            task=Translate.name,
            text=self.codec.settings.model_copy(update={"shared": True}),
            model=ModelSettings(
                encoder=TransformerSettings(**self._stack("encoder")),
                reader=TransformerReaderSettings(
                    **self._stack("decoder"), output_bias=True, tied=self._tied
                ),
                share_embedding=self._tied,
            ),
            decode=DecodeSettings(
                beam=generation.get("num_beams") or 1,
                penalty="average",
                alpha=generation.get("length_penalty", 1.0),
                max_length=min(generation.get("max_length") or longest, longest),
            ),
        )

    def _stack(self, side: str) -> dict[str, Any]:
        return {
            **stack_of(self.config, side),
            "norm": "post" if self.kind in _POST else "pre",
            "embedding_norm": self.kind in _NORMED,
            "position": "sinusoidal-halves" if self.kind == "marian" else "learned",
        }

    @torch.no_grad()
    def fill(self, model: Model, weights: Mapping[str, Tensor]) -> None:
        """The folder's numbers in our modules; a table that is shared is written once for each."""
        own, kind, config = model.state_dict(), self.kind, self.config
        tensors: dict[str, Tensor] = {}
        for ours, theirs in _SIDES:
            layers, heads = config[f"{theirs}_layers"], config[f"{theirs}_attention_heads"]
            fill_blocks(
                kind,
                own,
                weights,
                side=ours,
                theirs=theirs,
                layers=layers,
                heads=heads,
                folder=self.folder,
            )
            table = "model.shared.weight" if self._tied else f"model.{theirs}.embed_tokens.weight"
            tensors[f"{ours}.embedding.table.weight"] = self._tensor(weights, table)
            if kind != "marian":
                positions = self._tensor(weights, f"model.{theirs}.embed_positions.weight")
                tensors[f"{ours}.embedding.position.weight"] = positions[SHIFTS.get(kind, 0) :]
            for end in ("weight", "bias") if kind in _NORMED else ():
                norm = self._tensor(weights, f"model.{theirs}.layernorm_embedding.{end}")
                tensors[f"{ours}.embedding.norm.{end}"] = norm
        output = "model.shared.weight" if self._tied else "lm_head.weight"
        tensors["reader.output.weight"] = self._tensor(weights, output)
        tensors["reader.output.bias"] = self._tensor(weights, "final_logits_bias")[0]
        put(own, list(tensors.items()), "model.shared.weight", kind, self.folder)

    def _tensor(self, weights: Mapping[str, Tensor], name: str) -> Tensor:
        return tensor_of(weights, name, self.kind, self.folder)

    def source(self, task: Task, text: str) -> list[int]:
        """The text that is read."""
        return [int(number) for number in task.encode(text)]

    def forced(self, theirs: Any, source: Tensor, said: Tensor) -> Tensor:
        """All steps at once."""
        inputs = torch.cat([torch.tensor([BEGIN]), said[:-1]])
        return theirs(input_ids=source[None], decoder_input_ids=inputs[None]).logits[0]
