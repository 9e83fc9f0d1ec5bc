"""A BERT folder as a run of ours: an encoder whose masked words head fills in words (Devlin 2019).

Our encoder reads one text, so the vector of the first segment is the same at every position: it is added
into the table of positions. Ids are ordered as ours are: padding, begin ([CLS]), end ([SEP]), unknown, mask,
then all other pieces. A folder that was exported from here has our own tokenizer, and may also be a tagger.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

import torch
from torch import Tensor

from regard.interop.incoming import (
    ACTIVATIONS,
    fill_blocks,
    json_of,
    lines_of,
    put,
    refuse_where,
    refused,
    tensor_of,
)
from regard.interop.layouts import LAYOUTS
from regard.interop.to_huggingface import SHIFTS
from regard.interop.tokenizer_out import codec_of
from regard.models import Model, ModelSettings, TransformerSettings
from regard.run.settings import RunSettings
from regard.settings.architecture import TagSettings
from regard.tasks import Fill, Tag, Task
from regard.tasks.fill import MASK
from regard.text import Codec, Labels, TextSettings
from regard.text.vocabulary import SPECIALS, Vocabulary

KIND = "BERT"
_THEIRS = ("[PAD]", "[CLS]", "[SEP]", "[UNK]", "[MASK]")  # where ours have SPECIALS and MASK
_SIZES = (
    "hidden_size",
    "num_hidden_layers",
    "num_attention_heads",
    "intermediate_size",
    "max_position_embeddings",
)
_MASKED, _TOKENS = "BertForMaskedLM", "BertForTokenClassification"
_RETURNED = {  # what `regard export` writes of encoders whose norms come first
    "esm": "EsmForTokenClassification",
    "megatron-bert": "MegatronBertForTokenClassification",
}
_HEAD = "cls.predictions"


@final
@dataclass(frozen=True, eq=False)
class Bert:
    """A folder's configuration and vocabulary, and which of its rows each of our ids has."""

    folder: Path
    config: Mapping[str, Any]
    codec: Codec
    rows: tuple[int, ...]  # of the folder's table, by our ids
    architecture: str

    @classmethod
    def open(cls, folder: Path, config: Mapping[str, Any]) -> Bert:
        """Read the vocabulary, and refuse by clause what our modules do not hold."""
        known = config.get("architectures") or [_MASKED]
        architecture = str(known[0])
        if architecture == "BertForPreTraining":
            architecture = _MASKED
        _refuse_others(folder, config, architecture)
        own = codec_of(folder)
        if own is not None:
            return cls(folder, config, own, tuple(range(own.size)), architecture)
        if architecture in _RETURNED.values():
            raise refused(folder, architecture, "its tokenizer is not one that regard wrote")
        if architecture != _MASKED:
            raise refused(folder, KIND, "it labels words, and its tokenizer is not one of ours")
        codec, rows = _pieces(folder)
        return cls(folder, config, codec, rows, architecture)

    @property
    def opener(self) -> str:
        """Its own class."""
        return self.architecture

    @property
    def columns(self) -> tuple[int, ...]:
        """A row of the output for each piece, or for each label."""
        return tuple(range(len(self._labels))) if self._labels_pieces else self.rows

    @property
    def said(self) -> frozenset[int]:
        """Every label, at every place."""
        return frozenset(range(len(self.columns)))

    @property
    def _labels(self) -> list[str]:
        named = self.config.get("id2label") or {}
        return [str(named[key]) for key in sorted(named, key=int)]

    @property
    def kind(self) -> str:
        """Which architecture it is: BERT, or one whose norms come first."""
        return str(self.config.get("model_type", "bert"))

    @property
    def _labels_pieces(self) -> bool:
        return self.architecture != _MASKED

    @property
    def _tags(self) -> bool:
        return self._labels_pieces and MASK not in self.codec.settings.symbols

    @property
    def _embedding_norm(self) -> bool:
        return self.kind == "bert" or bool(self.config.get("emb_layer_norm_before"))

    @property
    def _rotary(self) -> bool:
        return self.kind == "esm" and self.config.get("position_embedding_type") == "rotary"

    def task(self) -> Task:
        """Masked words, or the labels of a tagger that left from here."""
        return Tag(self.codec, Labels(tuple(self._labels))) if self._tags else Fill(self.codec)

    def settings(self) -> RunSettings:
        """What our modules need to be the same model."""
        config, activation = self.config, ACTIVATIONS[self.config["hidden_act"]]
        eps = config.get("layer_norm_eps", 1e-12)
        dropout = config.get("hidden_dropout_prob", 0.1)
        reader = TagSettings(dropout=dropout)
        if self.architecture == _MASKED:
            reader = TagSettings(dropout=0.0, transform=activation, norm_eps=eps)  # type: ignore[arg-type]
        encoder = TransformerSettings(
            width=config["hidden_size"],
            layers=config["num_hidden_layers"],
            heads=config["num_attention_heads"],
            feedforward=config["intermediate_size"],
            activation=activation,
            norm="post" if self.kind == "bert" else "pre",
            norm_eps=eps,
            position="rotary" if self._rotary else "learned",
            max_length=config["max_position_embeddings"] - SHIFTS.get(self.kind, 0),
            scale_embedding=False,
            embedding_norm=self._embedding_norm,
            dropout=dropout,
            attention_dropout=config.get("attention_probs_dropout_prob", 0.1),
        )
        return RunSettings(
            task=Tag.name if self._tags else Fill.name,
            text=self.codec.settings,
            model=ModelSettings(encoder=encoder, reader=reader),
        )

    @torch.no_grad()
    def fill(self, model: Model, weights: Mapping[str, Tensor]) -> None:
        """The folder's numbers in our modules."""
        weights = {_modern(name): one for name, one in weights.items()}
        own = dict(model.named_parameters())
        layers, heads = self.config["num_hidden_layers"], self.config["num_attention_heads"]
        fill_blocks(
            self.kind, own, weights, side="encoder", layers=layers, heads=heads, folder=self.folder
        )
        root, rows = LAYOUTS[self.kind].stack.split(".")[0], torch.tensor(self.rows)
        place = f"{root}.embeddings"
        table = self._tensor(weights, f"{place}.word_embeddings.weight")
        tensors = {"encoder.embedding.table.weight": table[rows]}
        if not self._rotary:
            positions = self._tensor(weights, f"{place}.position_embeddings.weight")
            positions = positions[SHIFTS.get(self.kind, 0) :]
            if self.kind != "esm":  # one text is read: the vector of its segment is always there
                positions = (
                    positions + self._tensor(weights, f"{place}.token_type_embeddings.weight")[0]
                )
            tensors["encoder.embedding.position.weight"] = positions
        for end in ("weight", "bias") if self._embedding_norm else ():
            name = "layer_norm" if self.kind == "esm" else "LayerNorm"
            norm = self._tensor(weights, f"{place}.{name}.{end}")
            tensors[f"encoder.embedding.norm.{end}"] = norm
        tensors |= self._head(weights, table, rows)
        put(own, list(tensors.items()), place, KIND, self.folder)

    def _head(
        self, weights: Mapping[str, Tensor], table: Tensor, rows: Tensor
    ) -> dict[str, Tensor]:
        """What stands above the encoder; the output has the table of words, unless it has its own."""
        tensors: dict[str, Tensor] = {}
        if self._labels_pieces:
            for end in ("weight", "bias"):
                tensors[f"reader.output.{end}"] = self._tensor(weights, f"classifier.{end}")
            return tensors
        for ours, theirs in (("inner", "dense"), ("norm", "LayerNorm")):
            for end in ("weight", "bias"):
                name = f"{_HEAD}.transform.{theirs}.{end}"
                tensors[f"reader.transform.{ours}.{end}"] = self._tensor(weights, name)
        output = weights.get(f"{_HEAD}.decoder.weight", table)
        bias = weights.get(f"{_HEAD}.bias", weights.get(f"{_HEAD}.decoder.bias"))
        if bias is None:
            raise refused(self.folder, KIND, f"its weights lack '{_HEAD}.bias'")
        return tensors | {"reader.output.weight": output[rows], "reader.output.bias": bias[rows]}

    def _tensor(self, weights: Mapping[str, Tensor], name: str) -> Tensor:
        return tensor_of(weights, name, KIND, self.folder)

    def source(self, task: Task, text: str) -> list[int]:
        """A text with what stands around it, whether it hides a word or not."""
        if isinstance(task, Fill):
            return [int(number) for number in task.only_read(text)[0]]
        return self.codec.encode(text)

    def forced(self, theirs: Any, source: Tensor, said: Tensor) -> Tensor:  # noqa: ARG002
        """Every place at once."""
        return theirs(input_ids=source[None]).logits[0]


def _modern(name: str) -> str:
    """Names as they are today: early checkpoints had gamma and beta, and some have no `bert.` in front."""
    name = name.replace("LayerNorm.gamma", "LayerNorm.weight").replace(
        "LayerNorm.beta", "LayerNorm.bias"
    )
    bare = name.startswith(("embeddings.", "encoder."))
    return f"bert.{name}" if bare else name


def _refuse_others(folder: Path, config: Mapping[str, Any], architecture: str) -> None:
    lacking = [name for name in _SIZES if name not in config]
    refuse_where(
        folder,
        KIND,
        {
            f"its configuration lacks {', '.join(lacking)}": bool(lacking),
            f"{architecture} has no head that names words, and a run answers": (
                architecture not in (_MASKED, _TOKENS, *_RETURNED.values())
            ),
            f"activation '{config.get('hidden_act')}' is not known here": (
                config.get("hidden_act") not in ACTIVATIONS
            ),
            "its positions are relative": (
                config.get("position_embedding_type", "absolute")
                not in (
                    ("absolute", "rotary") if config.get("model_type") == "esm" else ("absolute",)
                )
            ),
            "it drops the vectors of masked tokens": bool(config.get("token_dropout")),
            "it is a decoder": bool(config.get("is_decoder")),
        },
    )


def _pieces(folder: Path) -> tuple[Codec, tuple[int, ...]]:
    """BERT's own vocabulary in our order."""
    known, lowercase = _vocabulary(folder)
    lacking = [name for name in _THEIRS if name not in known]
    if lacking:
        raise refused(folder, KIND, f"its vocabulary lacks {', '.join(lacking)}")
    others = [name for name in sorted(known, key=known.__getitem__) if name not in _THEIRS]
    pieces = [name[2:] if name.startswith("##") and name != "##" else f" {name}" for name in others]
    settings = TextSettings(
        kind="wordpiece", vocabulary=len(known), lowercase=lowercase, symbols=(MASK,)
    )
    vocabulary = Vocabulary(settings, (*SPECIALS, MASK, *pieces))
    codec = Codec.from_json(vocabulary.to_json(), str(folder))
    return codec, tuple(known[name] for name in (*_THEIRS, *others))


def _vocabulary(folder: Path) -> tuple[dict[str, int], bool]:
    """Pieces by their ids, and whether capitals are lost; from either form of a tokenizer."""
    whole = json_of(folder / "tokenizer.json", {})
    if not whole:
        config = json_of(folder / "tokenizer_config.json", {})
        names = [line.rstrip("\r") for line in lines_of(folder / "vocab.txt")]
        vocabulary = {name: number for number, name in enumerate(names) if name}
        return vocabulary, bool(config.get("do_lower_case", True))
    model, normal = whole.get("model") or {}, whole.get("normalizer") or {}
    cut = (whole.get("pre_tokenizer") or {}).get("type")
    lowercase = bool(normal.get("lowercase"))
    accents = normal.get("strip_accents")
    refuse_where(
        folder,
        KIND,
        {
            "its tokenizer is no WordPiece": (
                model.get("type", "WordPiece") != "WordPiece"
                or not isinstance(model.get("vocab"), dict)
            ),
            "its tokenizer cuts text in another way than BERT's": (
                normal.get("type") != "BertNormalizer" or cut != "BertPreTokenizer"
            ),
            "its tokenizer keeps control characters, or does not part Chinese ones": not (
                normal.get("clean_text") and normal.get("handle_chinese_chars")
            ),
            "its tokenizer treats accents otherwise than capitals": accents
            not in (None, lowercase),
            "its tokenizer marks pieces otherwise than by ##": (
                model.get("continuing_subword_prefix", "##") != "##"
            ),
        },
    )
    return dict(model["vocab"]), lowercase
