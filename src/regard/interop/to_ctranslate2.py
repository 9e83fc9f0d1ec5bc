"""A model of ours for CTranslate2 (`pip install 'regard[export]'`): Transformers that write, or the clause.

Its search forbids the end symbol at first by default. Ours does not: give it `min_decoding_length=0`.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, final

import numpy as np
import torch
from torch import Tensor

from regard.interop.outline import Clause, Outgoing, kinds, refuse
from regard.interop.tokenizer_out import codec_of_task, marian_files, tokenizers
from regard.run import files
from regard.settings.architecture import StackSettings, TransformerReaderSettings
from regard.text import BEGIN, Codec
from regard.text.vocabulary import SPECIALS

NAME = "CTranslate2"
TABLES = ("sinusoidal", "sinusoidal-halves", "learned", "none")
_REMEDY = (
    "of models trained here, `--preset vaswani2017-tiny` and `--preset language` can be exported"
)


def write(out: Outgoing, folder: Path) -> tuple[str, Callable[[], Opened]]:
    """The model, its vocabulary and its tokenizer, and how CTranslate2 opens it again."""
    _refuse(out)
    task = out.run.task
    codec = codec_of_task(task, "--to ctranslate2")
    target = getattr(task, "target", codec)
    spec = _spec(out, codec, target)
    spec.config.add_attribute("layer_norm_epsilon", next(iter(out.stacks.values())).norm_eps)
    spec.validate()
    spec.optimize(quantization=None)
    documents: dict[str, bytes] = {}
    if codec.settings.kind == "sentencepiece":
        both = marian_files(codec, target)
        documents = {name: both[name] for name in ("source.spm", "target.spm")}
    else:
        documents = tokenizers(task, codec)
    size = sum(one.numel() * 4 for one in out.model.parameters())
    with files.new_folder(folder, folder.name, size) as temporary:
        for name, content in documents.items():
            files.write_new(temporary / name, content)
        made = temporary / "model"
        made.mkdir()
        spec.save(str(made))
        for path in made.iterdir():
            shutil.move(path, temporary / path.name)
        made.rmdir()
    return type(spec).__name__, lambda: Opened(folder, out)


def _refuse(out: Outgoing) -> None:
    """Clause by clause."""
    settings = out.settings
    faults = kinds(settings, None if settings.encoder is None else "transformer", "transformer")
    alone = "encoder" not in out.stacks
    held = (*TABLES, "rotary") if alone else TABLES
    activations = ("relu", "gelu", "gelu-tanh", "swish", "swiglu")
    for name in out.stacks:
        faults += out.clauses(name, activations=activations, positions=held)
    if len(out.stacks) == 2:
        for name in ("width", "norm", "activation", "norm_eps", "embedding_norm"):
            own, other = (getattr(stack, name) for stack in out.stacks.values())
            if own != other:
                faults.append(Clause(f"model.encoder.{name}", own, f"that of both sides, {other}"))
    refuse(faults, NAME, str(out.run.folder), _REMEDY)


def _spec(out: Outgoing, source: Codec, target: Codec) -> Any:
    """Their description of the whole model, with its numbers."""
    from ctranslate2.specs import transformer_spec as theirs

    state = {name: one.float().numpy() for name, one in out.state().items()}
    reader = out.stacks["reader"]
    more = _shape(reader)
    if reader.position == "rotary":
        more |= {"rotary_dim": 0, "rotary_interleave": False, "rotary_base": reader.position_base}
    decoder = theirs.TransformerDecoderSpec(
        reader.layers, out.heads("reader"), with_encoder_attention="encoder" in out.stacks, **more
    )
    _stack(decoder, out, "reader", state)
    decoder.projection.weight = state["reader.output.weight"]
    if "reader.output.bias" in state:
        decoder.projection.bias = state["reader.output.bias"]
    if "encoder" not in out.stacks:
        spec: Any = theirs.TransformerDecoderModelSpec(decoder)
        spec.register_vocabulary(tokens_of(target))
    else:
        own = out.stacks["encoder"]
        encoder = theirs.TransformerEncoderSpec(own.layers, out.heads("encoder"), **_shape(own))
        _stack(encoder, out, "encoder", state)
        spec = theirs.TransformerSpec(encoder, decoder)
        spec.register_source_vocabulary(tokens_of(source))
        spec.register_target_vocabulary(tokens_of(target))
        spec.config.decoder_start_token = SPECIALS[BEGIN]
    return spec


def _shape(own: StackSettings) -> dict[str, Any]:
    from ctranslate2.specs import common_spec

    activation = {
        "relu": common_spec.Activation.RELU,
        "gelu": common_spec.Activation.GELU,
        "gelu-tanh": common_spec.Activation.GELUTanh,
        "swish": common_spec.Activation.SWISH,
        "swiglu": common_spec.Activation.SWISH,
    }[own.activation]
    return {
        "pre_norm": own.norm == "pre",
        "activation": activation,
        "layernorm_embedding": own.embedding_norm,
        "ffn_glu": own.activation == "swiglu",
    }


def _stack(spec: Any, out: Outgoing, name: str, state: dict[str, np.ndarray]) -> None:
    """One side: table, positions, blocks, the norm at the top."""
    own = out.stacks[name]
    embeddings = (
        spec.embeddings if isinstance(own, TransformerReaderSettings) else spec.embeddings[0]
    )
    embeddings.weight = state[f"{name}.embedding.table.weight"]
    spec.scale_embeddings = own.scale_embedding
    if own.position != "rotary":
        spec.position_encodings.encodings = out.table(name).numpy()
    if own.embedding_norm:
        _norm(spec.layernorm_embedding, state, f"{name}.embedding.norm")
    if own.norm == "pre":
        _norm(spec.layer_norm, state, f"{name}.norm")
    for number, layer in enumerate(spec.layer):
        block = f"{name}.blocks.{number}"
        parts = {
            one: [state[f"{block}.attention.{one}.{end}"] for end in ("weight", "bias")]
            for one in ("query", "key", "value")
        }
        _norm(layer.self_attention.layer_norm, state, f"{block}.attention_residual.norm")
        layer.self_attention.linear[0].weight = np.concatenate([w for w, _ in parts.values()])
        layer.self_attention.linear[0].bias = np.concatenate([b for _, b in parts.values()])
        _linear(layer.self_attention.linear[1], state, f"{block}.attention.output")
        if f"{block}.cross.query.weight" in state:
            _norm(layer.attention.layer_norm, state, f"{block}.cross_residual.norm")
            _linear(layer.attention.linear[0], state, f"{block}.cross.query")
            for end in ("weight", "bias"):
                both = [state[f"{block}.cross.{one}.{end}"] for one in ("key", "value")]
                setattr(layer.attention.linear[1], end, np.concatenate(both))
            _linear(layer.attention.linear[2], state, f"{block}.cross.output")
        _norm(layer.ffn.layer_norm, state, f"{block}.feedforward_residual.norm")
        _linear(layer.ffn.linear_1, state, f"{block}.feedforward.narrow")
        wide = [state[f"{block}.feedforward.widen.{end}"] for end in ("weight", "bias")]
        if own.activation == "swiglu":
            (value, gate), (value_bias, gate_bias) = (np.split(one, 2) for one in wide)
            layer.ffn.linear_0.weight, layer.ffn.linear_0.bias = gate, gate_bias
            layer.ffn.linear_0_noact.weight, layer.ffn.linear_0_noact.bias = value, value_bias
        else:
            layer.ffn.linear_0.weight, layer.ffn.linear_0.bias = wide


def _linear(spec: Any, state: dict[str, np.ndarray], name: str) -> None:
    spec.weight, spec.bias = state[f"{name}.weight"], state[f"{name}.bias"]


def _norm(spec: Any, state: dict[str, np.ndarray], name: str) -> None:
    spec.gamma, spec.beta = state[f"{name}.weight"], state[f"{name}.bias"]


def tokens_of(codec: Codec) -> list[str]:
    """Its pieces as its tokenizer names them."""
    pieces = codec.vocabulary.pieces
    if codec.settings.kind != "sentencepiece":
        return list(pieces)
    return [piece.replace(" ", "▁") for piece in pieces]


@final
class Opened:
    """The folder as CTranslate2 has it."""

    def __init__(self, folder: Path, out: Outgoing) -> None:
        import ctranslate2
        from tokenizers import Tokenizer

        self.reads = "encoder" in out.stacks
        kind = ctranslate2.Translator if self.reads else ctranslate2.Generator
        self.model = kind(str(folder), device="cpu", compute_type="float32", intra_threads=1)
        task = out.run.task
        source = codec_of_task(task, "--to ctranslate2")
        self.source = tokens_of(source)
        self.target = tokens_of(getattr(task, "target", source))
        self.ids = {name: number for number, name in enumerate(self.target)}
        file = folder / "tokenizer.json"
        self.tokenizer = Tokenizer.from_file(str(file)) if file.is_file() else None

    def cut(self, text: str) -> list[int] | None:
        """By the tokenizer that lies beside the model."""
        return None if self.tokenizer is None else self.tokenizer.encode(text).ids

    def answer(self, source: list[int], most: int) -> list[int]:
        """One hypothesis; the end symbol may come first."""
        given = [self.source[number] for number in source]
        if self.reads:
            results = self.model.translate_batch(
                [given],
                beam_size=1,
                min_decoding_length=0,
                max_decoding_length=most,
                max_input_length=0,
                return_end_token=True,
            )
            return [self.ids[name] for name in results[0].hypotheses[0]]
        results = self.model.generate_batch(
            [[SPECIALS[BEGIN], *given]],
            beam_size=1,
            sampling_topk=1,
            min_length=0,
            max_length=most,
            include_prompt_in_result=False,
            return_end_token=True,
        )
        return list(results[0].sequences_ids[0])

    def chances(self, source: list[int], said: list[int]) -> Tensor:
        """Of what was said alone: it gives no others."""
        if not said:
            return torch.zeros(0)
        given = [self.source[number] for number in source]
        words = [self.target[number] for number in said]
        if self.reads:
            ended = words[-1] == SPECIALS[2]
            (scored,) = self.model.score_batch([given], [words[:-1] if ended else words])
            return torch.tensor(scored.log_probs[: len(said)])
        (scored,) = self.model.score_batch([[SPECIALS[BEGIN], *given, *words]])
        return torch.tensor(scored.log_probs[len(given) :])
