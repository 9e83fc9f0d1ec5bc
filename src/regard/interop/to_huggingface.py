"""A model of ours as `transformers` opens it: the architecture that holds it exactly, or the clause.

| ours | theirs |
|---|---|
| encoder and decoder, post-norm, sinusoidal positions | Marian |
| the same with a norm behind the embedding, any table of positions | BART |
| encoder and decoder, pre-norm, any table of positions | Pegasus; mBART with a norm behind the embedding |
| a language model, pre-norm, any table of positions | GPT-2 |
| the same with rotary positions | GPT-NeoX |
| an encoder, post-norm, a norm behind the embedding | BERT |
| an encoder, pre-norm | ESM, which has rotary positions; Megatron-BERT for other activations than gelu |
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, final

import torch
import torch.nn.functional as F
from torch import Tensor

from regard.interop.layouts import LAYOUTS, laid_together
from regard.interop.outline import (
    UNSAID,
    Clause,
    Outgoing,
    interleaved_to_halves,
    kinds,
    refuse,
    reordered,
)
from regard.settings.architecture import (
    ClassifySettings,
    StackSettings,
    TagSettings,
    TransformerReaderSettings,
    TransformerSettings,
)
from regard.text import BEGIN, END, PAD, Codec

NAME = "Hugging Face"
ACTIVATIONS = {
    "relu": "relu",
    "gelu": "gelu",
    "gelu-tanh": "gelu_pytorch_tanh",
    "swish": "silu",
}
TABLES = ("sinusoidal", "sinusoidal-halves", "learned", "none")
CLASSES = {
    "marian": "MarianMTModel",
    "bart": "BartForConditionalGeneration",
    "pegasus": "PegasusForConditionalGeneration",
    "mbart": "MBartForConditionalGeneration",
    "gpt2": "GPT2LMHeadModel",
    "gpt_neox": "GPTNeoXForCausalLM",
    "bert": "Bert",
    "megatron-bert": "MegatronBert",
    "esm": "Esm",
}
SHIFTS = {"bart": 2, "mbart": 2, "esm": 1}  # first rows of a table that belong to no position


@final
@dataclass(frozen=True, eq=False)
class Written:
    """What a folder holds: the class, its configuration, how it generates, and its tensors."""

    kind: str
    architecture: str
    config: dict[str, Any]
    tensors: dict[str, Tensor]
    generation: dict[str, Any] = field(default_factory=dict)


def written(out: Outgoing) -> Written:
    """The architecture that holds this model; where none does, every clause that is in the way."""
    settings = out.settings
    match settings.encoder, settings.reader:
        case TransformerSettings(), TransformerReaderSettings():
            return _translator(out)
        case None, TransformerReaderSettings():
            return _continuer(out)
        case TransformerSettings(), TagSettings() | ClassifySettings():
            from regard.interop.labellers_out import labeller

            return labeller(out)
    refuse(
        kinds(settings, "transformer", "transformer")[:1] or kinds(settings, None, "transformer"),
        NAME,
        str(out.run.folder),
        _REMEDY,
    )
    raise AssertionError


def _translator(out: Outgoing) -> Written:
    reader = out.stacks["reader"]
    kind = _kind_of(reader)
    refuse(_translator_faults(out, kind), named(kind), str(out.run.folder), _REMEDY)
    state = out.state()
    if kind == "marian" and reader.position == "sinusoidal":
        state = reordered(state, interleaved_to_halves(reader.width))
    longest = min(len(out.table(name)) for name in out.stacks)  # they have one setting for both
    tensors: dict[str, Tensor] = {}
    for side, ours in (("encoder", "encoder"), ("decoder", "reader")):
        tensors |= blocks(kind, state, ours, out.stacks[ours].layers, out.heads(ours), side)
        if kind != "marian":
            table = F.pad(out.table(ours)[:longest], (0, 0, SHIFTS.get(kind, 0), 0))
            tensors[f"model.{side}.embed_positions.weight"] = table
        if reader.embedding_norm:
            for end in ("weight", "bias"):
                gain = state[f"{ours}.embedding.norm.{end}"]
                tensors[f"model.{side}.layernorm_embedding.{end}"] = gain
    tied = _tables(out, kind, state, tensors)
    bias = state.get("reader.output.bias", torch.zeros(out.run.task.sizes.target))
    tensors["final_logits_bias"] = bias[None]
    config = _translator_config(out, kind, longest, tied)
    return Written(kind, CLASSES[kind], config, tensors, _generation(out, BEGIN))


def _kind_of(reader: StackSettings) -> str:
    """Their translator that has its norms where this one has them."""
    if reader.norm == "pre":
        return "mbart" if reader.embedding_norm else "pegasus"
    return "bart" if reader.embedding_norm else "marian"


def _translator_faults(out: Outgoing, kind: str) -> list[Clause]:
    """What a translator of this kind does not hold of ours."""
    positions = ("sinusoidal", "sinusoidal-halves") if kind == "marian" else TABLES
    faults = kinds(out.settings, "transformer", "transformer")
    for name in out.stacks:
        faults += out.clauses(name, activations=ACTIVATIONS, positions=positions, eps=1e-5)
    faults += _unlike(kind, out.stacks["encoder"], out.stacks["reader"])
    if _two_vocabularies(out):
        faults.append(Clause("text.shared", False, "one vocabulary for both sides"))
    for name, own in out.stacks.items():
        if kind == "marian" and own.position_base != 10000.0:
            faults.append(Clause(f"model.{name}.position_base", own.position_base, "10000"))
    return faults


def _translator_config(out: Outgoing, kind: str, longest: int, tied: bool) -> dict[str, Any]:
    """Our sizes and choices by their names; `tied`: one table for source, target and output."""
    encoder, reader = out.stacks["encoder"], out.stacks["reader"]
    config = {
        "d_model": reader.width,
        "encoder_layers": encoder.layers,
        "encoder_attention_heads": out.heads("encoder"),
        "encoder_ffn_dim": encoder.feedforward,
        "decoder_layers": reader.layers,
        "decoder_attention_heads": out.heads("reader"),
        "decoder_ffn_dim": reader.feedforward,
        "max_position_embeddings": longest,
        "activation_function": ACTIVATIONS[reader.activation],
        "scale_embedding": reader.scale_embedding,
        "dropout": reader.dropout,
        "attention_dropout": reader.attention_dropout,
        "activation_dropout": reader.activation_dropout,
        "is_encoder_decoder": True,
        "tie_word_embeddings": tied,
        "forced_eos_token_id": None,
        **ids(out, BEGIN),
    }
    if kind != "marian":
        return config
    target = out.run.task.sizes.target
    return {**config, "decoder_vocab_size": target, "share_encoder_decoder_embeddings": tied}


def _tables(out: Outgoing, kind: str, state: dict[str, Tensor], tensors: dict[str, Tensor]) -> bool:
    """The tables of source, target and output; whether they are one."""
    model = out.model
    tables = (model.encoder.embedding.table.weight, model.reader.embedding.table.weight)  # type: ignore[union-attr]
    shared = tables[0] is tables[1] and model.reader.output.weight is tables[1]  # type: ignore[union-attr]
    source, target = (state[f"{name}.embedding.table.weight"] for name in ("encoder", "reader"))
    if shared or kind != "marian":
        tensors["model.shared.weight"] = source
    if not shared:
        tensors["model.encoder.embed_tokens.weight"] = source.clone()
        tensors["model.decoder.embed_tokens.weight"] = target.clone()
        tensors["lm_head.weight"] = state["reader.output.weight"].clone()
    return bool(shared)


def _continuer(out: Outgoing) -> Written:
    reader = out.stacks["reader"]
    kind = "gpt_neox" if reader.position == "rotary" else "gpt2"
    positions = (*TABLES, "rotary")
    faults = kinds(out.settings, None, "transformer")
    faults += out.clauses("reader", activations=ACTIVATIONS, positions=positions, norms=("pre",))
    state = out.state()
    bias = state.get("reader.output.bias", torch.zeros(1))
    unsaid = (bias <= UNSAID / 10).nonzero()[:, 0].tolist()
    if bool((bias[bias > UNSAID / 10] != 0).any()):
        faults.append(Clause("model.reader.output_bias", True, "an output without a bias"))
    if reader.embedding_norm:
        faults.append(Clause("model.reader.embedding_norm", True, "no norm behind the embedding"))
    refuse(faults, named(kind), str(out.run.folder), _REMEDY_LANGUAGE)
    tensors = blocks(kind, state, "reader", reader.layers, out.heads("reader"), "")
    scale = reader.width**0.5 if reader.scale_embedding else 1.0
    table = state["reader.embedding.table.weight"] * scale
    output = state["reader.output.weight"].clone()
    if kind == "gpt2":
        places = out.table("reader")
        tensors |= {"transformer.wte.weight": table, "transformer.wpe.weight": places}
        tensors["lm_head.weight"] = output
    else:
        tensors |= {"gpt_neox.embed_in.weight": table, "embed_out.weight": output}
    shape = _gpt2_config(out) if kind == "gpt2" else _neox_config(out)
    config = {**shape, "tie_word_embeddings": False, **ids(out, None)}
    generation = _generation(out, None)
    if unsaid:
        generation["suppress_tokens"] = unsaid
    return Written(kind, CLASSES[kind], config, tensors, generation)


def _gpt2_config(out: Outgoing) -> dict[str, Any]:
    reader = out.stacks["reader"]
    return {
        "n_embd": reader.width,
        "n_layer": reader.layers,
        "n_head": out.heads("reader"),
        "n_inner": reader.feedforward,
        "n_positions": len(out.table("reader")),
        "activation_function": ACTIVATIONS[reader.activation],
        "layer_norm_epsilon": reader.norm_eps,
    }


def _neox_config(out: Outgoing) -> dict[str, Any]:
    reader = out.stacks["reader"]
    return {
        "hidden_size": reader.width,
        "num_hidden_layers": reader.layers,
        "num_attention_heads": out.heads("reader"),
        "intermediate_size": reader.feedforward,
        "max_position_embeddings": len(out.table("reader")),
        "hidden_act": ACTIVATIONS[reader.activation],
        "layer_norm_eps": reader.norm_eps,
        "use_parallel_residual": False,
        "attention_bias": True,
        "rope_parameters": {
            "rope_type": "default",
            "rope_theta": reader.position_base,
            "partial_rotary_factor": 1.0,
        },
    }


def blocks(
    kind: str, state: dict[str, Tensor], ours: str, layers: int, heads: int, side: str
) -> dict[str, Tensor]:
    pairs = LAYOUTS[kind].pairs(ours, layers, side)
    return {
        pair.theirs: laid_together(
            pair.form, [state[name] for name in pair.ours], heads
        ).contiguous()
        for pair in pairs
    }


def _two_vocabularies(out: Outgoing) -> bool:
    """Whether the sides have other pieces; Marian's may cut into the same ones in two ways."""
    task = out.run.task
    source, target = getattr(task, "source", None), getattr(task, "target", None)
    if not isinstance(source, Codec) or not isinstance(target, Codec):
        return False
    return source.vocabulary.pieces != target.vocabulary.pieces


def _unlike(kind: str, encoder: StackSettings, reader: StackSettings) -> Iterator[Clause]:
    """What both sides have one setting for."""
    for name in ("width", "activation", "norm", "scale_embedding", "embedding_norm"):
        own, other = getattr(encoder, name), getattr(reader, name)
        if own != other:
            yield Clause(
                f"model.encoder.{name}", own, f"that of both sides ({other} in the reader)"
            )
    if encoder.position != reader.position and kind == "marian":
        yield Clause("model.encoder.position", encoder.position, f"{reader.position} on both sides")


def ids(out: Outgoing, start: int | None) -> dict[str, Any]:
    sizes = out.run.task.sizes
    more = {} if start is None else {"decoder_start_token_id": start}
    vocabulary = max(sizes.source, sizes.target)
    return {
        "vocab_size": vocabulary,
        "pad_token_id": PAD,
        "bos_token_id": BEGIN,
        "eos_token_id": END,
        "dtype": "float32",
        **more,
    }


def _generation(out: Outgoing, start: int | None) -> dict[str, Any]:
    """How it answers. Their penalty of length is our `average`; of `gnmt` the exponent is the nearest."""
    own = out.run.settings.decode
    more = {} if start is None else {"decoder_start_token_id": start}
    return {
        "pad_token_id": PAD,
        "bos_token_id": BEGIN,
        "eos_token_id": END,
        "num_beams": own.beam,
        "length_penalty": 0.0 if own.penalty == "none" else own.alpha,
        "max_length": min(own.max_length, len(out.table("reader"))),
        **more,
    }


def named(kind: str) -> str:
    return f"{NAME}'s {CLASSES[kind]}"


_REMEDY = "of models trained here, those of `--preset vaswani2017-tiny` can be exported"
_REMEDY_LANGUAGE = "of models trained here, those of `--preset language` can be exported"
