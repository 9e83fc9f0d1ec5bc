"""Taggers and models of masked words as `transformers` opens them: an encoder, and a label for each piece."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from regard.interop.layouts import LAYOUTS
from regard.interop.outline import Clause, Outgoing, refuse
from regard.interop.to_huggingface import (
    ACTIVATIONS,
    CLASSES,
    SHIFTS,
    TABLES,
    Written,
    blocks,
    ids,
    named,
)
from regard.settings.architecture import ClassifySettings, StackSettings, TagSettings
from regard.text.vocabulary import UNKNOWN

_REMEDY_LABELS = (
    "of models trained here, those of `--preset devlin2019` can be exported, and taggers with a Transformer "
    "encoder"
)


def labeller(out: Outgoing) -> Written:
    """A label for each piece: BERT, ESM or Megatron-BERT, or every clause that is in the way."""
    encoder, reader = out.stacks["encoder"], out.settings.reader
    if encoder.norm == "post":
        kind, activations, positions = "bert", list(ACTIVATIONS), list(TABLES)
    elif encoder.activation == "gelu" or encoder.position == "rotary" or encoder.embedding_norm:
        kind, activations, positions = "esm", ["gelu"], [*TABLES, "rotary"]
    else:
        kind, activations, positions = "megatron-bert", list(ACTIVATIONS), list(TABLES)
    faults = list(out.clauses("encoder", activations=activations, positions=positions))
    if kind == "bert" and not encoder.embedding_norm:
        faults.append(Clause("model.encoder.embedding_norm", False, "a norm behind the embedding"))
    if kind == "esm" and encoder.position_base != 10000.0:
        faults.append(Clause("model.encoder.position_base", encoder.position_base, "10000"))
    if isinstance(reader, ClassifySettings):
        held = "a first token that goes through tanh"
        faults.append(Clause("model.reader.pooling", reader.pooling, held))
    if isinstance(reader, TagSettings) and reader.transform is not None:
        faults += _transform_clauses(reader, kind, encoder)
    refuse(faults, named(kind), str(out.run.folder), _REMEDY_LABELS)
    return filled(out, kind, encoder)


def _transform_clauses(reader: TagSettings, kind: str, encoder: StackSettings) -> Iterator[Clause]:
    """BERT alone has such a layer before its output, made like its blocks."""
    if kind != "bert":
        yield Clause("model.reader.transform", reader.transform, "none, unless norm is post")
    if reader.transform != encoder.activation:
        yield Clause("model.reader.transform", reader.transform, f"{encoder.activation}")
    if reader.norm_eps != encoder.norm_eps:
        yield Clause("model.reader.norm_eps", reader.norm_eps, f"{encoder.norm_eps}")


def filled(out: Outgoing, kind: str, encoder: StackSettings) -> Written:
    """The tensors of an encoder and its linear map to labels, by the names of this architecture."""
    state = out.state()
    tensors = _encoder(out, kind, encoder, state)
    config = _encoder_config(out, kind, encoder)
    reader = out.settings.reader
    if isinstance(reader, TagSettings) and reader.transform is not None:
        for ours, theirs in (("inner", "dense"), ("norm", "LayerNorm")):
            for end in ("weight", "bias"):
                own = state[f"reader.transform.{ours}.{end}"]
                tensors[f"cls.predictions.transform.{theirs}.{end}"] = own
        tensors["cls.predictions.decoder.weight"] = state["reader.output.weight"]
        tensors["cls.predictions.decoder.bias"] = state["reader.output.bias"].clone()
        tensors["cls.predictions.bias"] = state["reader.output.bias"]
        config["tie_word_embeddings"] = False
        return Written(kind, f"{CLASSES[kind]}ForMaskedLM", config, tensors)
    tensors |= {f"classifier.{end}": state[f"reader.output.{end}"] for end in ("weight", "bias")}
    names = {n: out.run.task.symbol(n) for n in range(out.run.task.sizes.labels)}
    config["id2label"] = {str(number): name for number, name in names.items()}
    config["label2id"] = {name: number for number, name in names.items()}
    return Written(kind, f"{CLASSES[kind]}ForTokenClassification", config, tensors)


def _encoder(
    out: Outgoing, kind: str, encoder: StackSettings, state: dict[str, Tensor]
) -> dict[str, Tensor]:
    """Blocks and embeddings; what our model has no counterpart of is 0."""
    embeddings = f"{LAYOUTS[kind].stack.split('.')[0]}.embeddings"
    tensors = blocks(kind, state, "encoder", encoder.layers, out.heads("encoder"), "")
    scale = encoder.width**0.5 if encoder.scale_embedding else 1.0
    table = state["encoder.embedding.table.weight"] * scale
    tensors[f"{embeddings}.word_embeddings.weight"] = table
    if encoder.position != "rotary":
        places = F.pad(out.table("encoder"), (0, 0, SHIFTS.get(kind, 0), 0))
        tensors[f"{embeddings}.position_embeddings.weight"] = places
    if kind == "esm":
        contacts = torch.zeros(1, encoder.layers * out.heads("encoder"))
        tensors["esm.contact_head.regression.weight"] = contacts
        tensors["esm.contact_head.regression.bias"] = torch.zeros(1)
    else:
        tensors[f"{embeddings}.token_type_embeddings.weight"] = torch.zeros(2, encoder.width)
    if encoder.embedding_norm:
        name = "layer_norm" if kind == "esm" else "LayerNorm"
        for end in ("weight", "bias"):
            tensors[f"{embeddings}.{name}.{end}"] = state[f"encoder.embedding.norm.{end}"]
    return tensors


def _encoder_config(out: Outgoing, kind: str, encoder: StackSettings) -> dict[str, Any]:
    config: dict[str, Any] = {
        "hidden_size": encoder.width,
        "num_hidden_layers": encoder.layers,
        "num_attention_heads": out.heads("encoder"),
        "intermediate_size": encoder.feedforward,
        "max_position_embeddings": len(out.table("encoder")) + SHIFTS.get(kind, 0),
        "hidden_act": ACTIVATIONS[encoder.activation],
        "layer_norm_eps": encoder.norm_eps,
        "hidden_dropout_prob": encoder.dropout,
        "attention_probs_dropout_prob": encoder.attention_dropout,
        **ids(out, None),
    }
    if kind != "esm":
        return {**config, "type_vocab_size": 2}
    return {
        **config,
        "position_embedding_type": "rotary" if encoder.position == "rotary" else "absolute",
        "emb_layer_norm_before": encoder.embedding_norm,
        "token_dropout": False,
        "mask_token_id": UNKNOWN,
    }
