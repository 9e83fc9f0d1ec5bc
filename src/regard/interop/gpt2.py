"""A GPT-2 folder as a run of ours: a language model, pre-norm, learned positions (Radford 2019).

GPT-2 has one special symbol, which stands between texts. Here it is three: a text begins with it, ends with
it, and batches are filled up with it; only the end may be said. So a text is continued as one that follows
`<|endoftext|>`.
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
    UNSAID,
    fill_blocks,
    json_of,
    lines_of,
    put,
    refuse_where,
    refused,
    tensor_of,
)
from regard.interop.tokenizer_out import codec_of
from regard.models import Model, ModelSettings, TransformerReaderSettings
from regard.run.settings import RunSettings
from regard.settings.decode import DecodeSettings
from regard.tasks import Language, Task
from regard.text import END, Codec, TextSettings
from regard.text.vocabulary import SPECIALS, Vocabulary

KIND = "GPT-2"
_SIZES = ("n_embd", "n_layer", "n_head", "n_positions")
_NEOX = {  # the names of GPT-2 and of GPT-NeoX
    "n_embd": "hidden_size",
    "n_layer": "num_hidden_layers",
    "n_head": "num_attention_heads",
    "n_positions": "max_position_embeddings",
    "n_inner": "intermediate_size",
    "activation_function": "hidden_act",
    "layer_norm_epsilon": "layer_norm_eps",
    "architectures": "architectures",
}
MOST = 50  # symbols of an answer by default, the given part included


@final
@dataclass(frozen=True, eq=False)
class Gpt2:
    """A folder's configuration and vocabulary, and which of its rows each of our ids has."""

    folder: Path
    config: Mapping[str, Any]
    codec: Codec
    rows: tuple[int, ...]  # of the folder's table, by our ids
    said: frozenset[int]  # our ids that may be said

    @classmethod
    def open(cls, folder: Path, config: Mapping[str, Any]) -> Gpt2:
        """Read the vocabulary, and refuse by clause what our modules do not hold."""
        own = codec_of(folder)
        if config.get("model_type") == "gpt_neox":
            _refuse_neox(folder, config, own)
            config = {**config, **{ours: config[theirs] for ours, theirs in _NEOX.items()}}
        _refuse_others(folder, config)
        if own is not None:
            never = json_of(folder / "generation_config.json", {}).get("suppress_tokens") or ()
            said = frozenset(range(own.size)) - {int(number) for number in never}
            return cls(folder, config, own, tuple(range(own.size)), said)
        codec, rows = _pieces(folder, config)
        return cls(folder, config, codec, rows, frozenset({END, *range(len(SPECIALS), len(rows))}))

    @property
    def opener(self) -> str:
        """Its own class."""
        return "GPTNeoXForCausalLM" if self._rotates else "GPT2LMHeadModel"

    @property
    def _rotates(self) -> bool:
        return self.config.get("model_type") == "gpt_neox"

    @property
    def columns(self) -> tuple[int, ...]:
        """An output a piece."""
        return self.rows

    def task(self) -> Language:
        """What comes next."""
        return Language(self.codec)

    @property
    def _tied(self) -> bool:
        return bool(self.config.get("tie_word_embeddings", True))

    def settings(self) -> RunSettings:
        """What our modules need to be the same model."""
        config = self.config
        width = config["n_embd"]
        reader = TransformerReaderSettings(
            width=width,
            layers=config["n_layer"],
            heads=config["n_head"],
            feedforward=config.get("n_inner") or 4 * width,
            activation=ACTIVATIONS[config.get("activation_function", "gelu_new")],
            norm="pre",
            norm_eps=config.get("layer_norm_epsilon", 1e-5),
            position="rotary" if self._rotates else "learned",
            position_base=config["rope_parameters"]["rope_theta"] if self._rotates else 10000.0,
            max_length=config["n_positions"],
            scale_embedding=False,
            dropout=config.get("resid_pdrop", 0.1),
            attention_dropout=config.get("attn_pdrop", 0.1),
            tied=self._tied,
            output_bias=len(self.said) < len(self.rows),
        )
        generation = {**config, **json_of(self.folder / "generation_config.json", {})}
        decode = DecodeSettings(
            beam=generation.get("num_beams") or 1,
            penalty="average",
            alpha=generation.get("length_penalty") or 1.0,
            max_length=min(generation.get("max_length") or MOST, config["n_positions"] - 1),
        )
        return RunSettings(
            task=Language.name,
            text=self.codec.settings,
            model=ModelSettings(reader=reader),
            decode=decode,
        )

    @torch.no_grad()
    def fill(self, model: Model, weights: Mapping[str, Tensor]) -> None:
        """The folder's numbers in our modules; the first checkpoints have no `transformer.` in front."""
        if "wte.weight" in weights:
            weights = {f"transformer.{name}": one for name, one in weights.items()}
        own = dict(model.named_parameters())
        layers, heads = self.config["n_layer"], self.config["n_head"]
        kind = "gpt_neox" if self._rotates else "gpt2"
        fill_blocks(
            kind, own, weights, side="reader", layers=layers, heads=heads, folder=self.folder
        )
        rows = torch.tensor(self.rows)
        embedding = "gpt_neox.embed_in.weight" if self._rotates else "transformer.wte.weight"
        output = "embed_out.weight" if self._rotates else "lm_head.weight"
        tensors = {"reader.embedding.table.weight": self._tensor(weights, embedding)[rows]}
        if not self._rotates:
            positions = self._tensor(weights, "transformer.wpe.weight")
            tensors["reader.embedding.position.weight"] = positions
        if not self._tied:
            tensors["reader.output.weight"] = self._tensor(weights, output)[rows]
        if "reader.output.bias" in own:
            unsaid = [number not in self.said for number in range(len(rows))]
            tensors["reader.output.bias"] = torch.tensor(unsaid) * UNSAID
        put(own, list(tensors.items()), embedding, KIND, self.folder)

    def _tensor(self, weights: Mapping[str, Tensor], name: str) -> Tensor:
        return tensor_of(weights, name, KIND, self.folder)

    def source(self, task: Task, text: str) -> list[int]:
        """The text that is continued."""
        return task.prompt(text)

    def forced(self, theirs: Any, source: Tensor, said: Tensor) -> Tensor:
        """All steps at once, behind the symbol that stands between texts."""
        begin = torch.tensor([self.rows[1]])
        logits = theirs(torch.cat([begin, source, said[:-1]])[None]).logits[0]
        return logits[len(source) :]


def _refuse_neox(folder: Path, config: Mapping[str, Any], own: Codec | None) -> None:
    """Of GPT-NeoX, what `regard export` writes; others have attention and network side by side."""
    lacking = [theirs for theirs in (*_NEOX.values(), "rope_parameters") if theirs not in config]
    rotation = config.get("rope_parameters") or {}
    clauses = {
        "its tokenizer is not one that regard wrote": own is None,
        f"its configuration lacks {', '.join(lacking)}": bool(lacking),
        "attention and network of a block are side by side": bool(
            config.get("use_parallel_residual", True)
        ),
        "it turns a part of each head alone, or by a rule of its own": (
            rotation.get("partial_rotary_factor", 0.25) != 1.0
            or rotation.get("rope_type") != "default"
            or "rope_theta" not in rotation
        ),
    }
    refuse_where(folder, "GPT-NeoX", clauses)


def _refuse_others(folder: Path, config: Mapping[str, Any]) -> None:
    lacking = [name for name in _SIZES if name not in config]
    activation = config.get("activation_function", "gelu_new")
    architecture = str((config.get("architectures") or ["GPT2LMHeadModel"])[0])
    refuse_where(
        folder,
        KIND,
        {
            f"its configuration lacks {', '.join(lacking)}": bool(lacking),
            f"{architecture} has no head that says words": (
                architecture not in ("GPT2LMHeadModel", "GPTNeoXForCausalLM")
            ),
            f"activation '{activation}' is not known here": activation not in ACTIVATIONS,
            "its scores are not scaled by the root of their width": (
                not config.get("scale_attn_weights", True)
            ),
            "its scores are divided by the number of their layer": bool(
                config.get("scale_attn_by_inverse_layer_idx")
            ),
            "it has attention to another model": bool(config.get("add_cross_attention")),
        },
    )


def _pieces(folder: Path, config: Mapping[str, Any]) -> tuple[Codec, tuple[int, ...]]:
    """GPT-2's own vocabulary in our order, its merges in theirs."""
    known, merges = _vocabulary(folder)
    names = {number: name for name, number in known.items()}
    end = config.get("eos_token_id", 50256)
    if end not in names:
        raise refused(folder, KIND, "its vocabulary lacks the symbol that ends a text")
    others = [name for number, name in sorted(names.items()) if number != end]
    ids = {name: number for number, name in enumerate((*SPECIALS, *others))}
    settings = TextSettings(kind="byte-bpe", vocabulary=len(ids))
    try:
        pairs = tuple((ids[left], ids[right]) for left, right in merges)
    except KeyError as fault:
        raise refused(folder, KIND, f"its merges name {fault}, which is no piece") from None
    vocabulary = Vocabulary(settings, tuple(ids), pairs)
    codec = Codec.from_json(vocabulary.to_json(), str(folder))
    return codec, (end, end, end, end, *(known[name] for name in others))


def _vocabulary(folder: Path) -> tuple[dict[str, int], list[tuple[str, str]]]:
    """Pieces by their ids, and merges; from either form of a tokenizer."""
    whole = json_of(folder / "tokenizer.json", {})
    if not whole:
        lines = lines_of(folder / "merges.txt")
        pairs = [tuple(line.split()) for line in lines if line and not line.startswith("#version")]
        return json_of(folder / "vocab.json"), [(p[0], p[1]) for p in pairs if len(p) == 2]
    model, cut = whole.get("model") or {}, whole.get("pre_tokenizer") or {}
    refuse_where(
        folder,
        KIND,
        {
            "its tokenizer does not merge bytes": (
                model.get("type", "BPE") != "BPE" or cut.get("type") != "ByteLevel"
            ),
            "its tokenizer changes text before it cuts": bool(whole.get("normalizer")),
            "its tokenizer puts a space in front": bool(cut.get("add_prefix_space")),
        },
    )
    vocabulary = dict(model["vocab"])
    vocabulary |= {one["content"]: one["id"] for one in whole.get("added_tokens") or ()}
    merges = [one if isinstance(one, list) else one.split(" ") for one in model["merges"]]
    return vocabulary, [(left, right) for left, right in merges]
