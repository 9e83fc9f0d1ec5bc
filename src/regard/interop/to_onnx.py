"""A model of ours as ONNX graphs (`pip install 'regard[export]'`), with every attention weight.

`encoder.onnx`  source, lengths -> keys and values of the source for each layer, and the encoder's weights
`step.onnx`     tokens, what was said so far, the source -> logits, what was said by now, and the weights
`model.onnx`    source, lengths -> logits and weights, for a model that labels

Batch, source and target may have any length. A step takes one symbol or many, so that it also forces a whole
answer. Search stays outside: `onnx_session.Opened.answer` is the shortest one.
"""

from __future__ import annotations

import io
import logging
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

import torch
from torch import Tensor, nn

from regard.attention import Attention
from regard.interop.onnx_modules import Encoding, Labels, Step, ready
from regard.interop.onnx_session import Opened
from regard.interop.outline import LONGEST, Clause, Outgoing, kinds, refuse
from regard.interop.tokenizer_out import codec_of_task, marian_files, tokenizers
from regard.models import Model
from regard.models.transformer_decoder import TransformerDecoder
from regard.run import files
from regard.seams import reference
from regard.settings.architecture import ClassifySettings, TagSettings
from regard.text import BEGIN, END

NAME = "ONNX"
OPSET = 20
_REMEDY = (
    "of models trained here, `--preset vaswani2017-tiny` and `--preset language` can be exported"
)


def write(out: Outgoing, folder: Path) -> tuple[str, Callable[[], Opened]]:
    """The graphs and the tokenizer, and how onnxruntime opens them again."""
    _refuse(out)
    task = out.run.task
    codec = codec_of_task(task, "--to onnx")
    model = ready(out.model)
    if codec.settings.kind == "sentencepiece":
        both = marian_files(codec, getattr(task, "target", codec))
        documents = {name: both[name] for name in ("source.spm", "target.spm", "vocab.json")}
    else:
        documents = tokenizers(task, codec)
    graphs = list(_graphs(model))
    size = 2 * sum(one.numel() * 4 for one in model.parameters())
    with files.new_folder(folder, folder.name, size) as temporary:
        for name, content in documents.items():
            files.write_new(temporary / name, content)
        for graph in graphs:
            graph.save(temporary / f"{graph.name}.onnx")
        files.write_new(temporary / "README.md", _card(folder.name, graphs).encode())
    return " + ".join(f"{graph.name}.onnx" for graph in graphs), lambda: Opened(folder, out)


def _refuse(out: Outgoing) -> None:
    """Clause by clause: ONNX holds every score and normaliser of ours; what is left out is named here."""
    settings = out.settings
    reader = settings.reader
    kind = "transformer"
    if isinstance(reader, (TagSettings, ClassifySettings)):
        kind = reader.kind
    faults = kinds(settings, None if settings.encoder is None else "transformer", kind)
    for name, own in out.stacks.items():
        front = getattr(own, "front", None)
        if front is not None and front.kind != "plain":
            faults.append(Clause(f"model.{name}.front", front.kind, "a table of vectors"))
    for path, module in out.model.named_modules():
        if isinstance(module, Attention) and module.normaliser.is_random:
            faults.append(Clause(path, type(module.normaliser).__name__, "weights without chance"))
    refuse(faults, NAME, str(out.run.folder), _REMEDY)


@final
@dataclass(frozen=True, eq=False)
class _Graph:
    """One module with an example of what it reads, and the names of both sides."""

    name: str
    module: nn.Module
    given: tuple[Tensor, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    shapes: tuple[dict[int, str], ...]

    def save(self, path: Path) -> None:
        """By torch's exporter, which follows shapes as symbols; its advice is not for our users."""
        logger = logging.getLogger("torch.onnx")
        level = logger.level
        logger.setLevel(logging.ERROR)
        try:
            self._save(path)
        finally:
            logger.setLevel(level)

    def _save(self, path: Path) -> None:
        symbols = tuple(dict.fromkeys(own, torch.export.Dim.DYNAMIC) for own in self.shapes)
        shapes: Any = (symbols[0], symbols[1:]) if isinstance(self.module, Step) else symbols
        with warnings.catch_warnings(), redirect_stdout(io.StringIO()), reference():
            warnings.simplefilter("ignore")
            program = torch.onnx.export(
                self.module,
                self.given,
                dynamo=True,
                input_names=list(self.inputs),
                output_names=list(self.outputs),
                dynamic_shapes=shapes,
                opset_version=OPSET,
                verbose=False,
            )
        assert program is not None
        program.save(str(path), external_data=False)


_SOURCE = ({0: "batch", 1: "source"}, {0: "batch"})
_EXAMPLE = torch.tensor([[5, 4, 4, 4, 4, 4, 2], [4, 4, 4, 4, 2, 0, 0], [4, 2, 0, 0, 0, 0, 0]])
_LENGTHS = torch.tensor([7, 5, 2])


@torch.no_grad()
def _graphs(model: Model) -> Iterator[_Graph]:
    """The graphs of a model, each with the names of what its example gave."""
    reader = model.reader
    if not isinstance(reader, TransformerDecoder):
        yield _read("model", Labels(model), ["logits"], model)
        return
    layers = range(len(reader.blocks))
    memory = [f"cross.{n}.{part}" for n in layers for part in ("key", "value")]
    source: tuple[Tensor, ...] = ()
    if model.encoder is not None:
        yield (encoder := _read("encoder", Encoding(model), memory, model.encoder))
        source = (_LENGTHS, *encoder.module(*encoder.given)[: len(memory)])
    tokens = torch.tensor([[1, 4, 5], [1, 4, 4], [1, 5, 4]])
    start = reader.start(_nothing(model), 0).caches
    past = [
        torch.zeros(3, *part.shape[1:2], 4, part.shape[3])
        for one in start
        for part in (one.key, one.value)
    ]
    given = (tokens, *past, *source)
    cache = [f"self.{n}.{part}" for n in layers for part in ("key", "value")]
    names = ["tokens", *cache, *(["lengths", *memory] if source else [])]
    shapes = [{0: "batch", 1: "new"}, *[{0: "batch", 2: "past"}] * len(cache)]
    if source:
        shapes += [{0: "batch"}, *[{0: "batch", 2: "source"}] * len(memory)]
    module = Step(reader)
    grown = [f"next.{name}" for name in cache]
    outputs = ("logits", *grown, *_shown_by(module, given, reader))
    yield _Graph("step", module, given, tuple(names), outputs, tuple(shapes))


def _read(name: str, module: nn.Module, found: list[str], watched: nn.Module) -> _Graph:
    """A graph that reads the source."""
    given = (_EXAMPLE, _LENGTHS)
    outputs = (*found, *_shown_by(module, given, watched))
    return _Graph(name, module, given, ("source", "lengths"), outputs, _SOURCE)


def _shown_by(module: nn.Module, given: tuple[Tensor, ...], watched: nn.Module) -> list[str]:
    """The names of all weights in the order in which they are worked out."""
    names: list[str] = []
    hooks = []
    for one in watched.modules():
        if isinstance(one, Attention) and one.site is not None:
            name = f"{one.site.role}.{one.site.layer}.weights"
            hooks.append(one.register_forward_hook(lambda *_, name=name: names.append(name)))
    with reference():
        module(*given)
    for hook in hooks:
        hook.remove()
    return names


def _nothing(model: Model) -> Any:
    """A source of no length, for caches that hold nothing."""
    from regard.models.encoder import Encoded

    width = 1 if model.encoder is None else model.encoder.width
    return Encoded(next(model.parameters()).new_zeros(3, 0, width))


def _card(name: str, graphs: Sequence[_Graph]) -> str:
    lines = [
        f"# {name}",
        "",
        "A model trained with regard, as graphs of ONNX. Weights are (batch, heads, query, key).",
    ]
    for graph in graphs:
        lines += ["", f"## {graph.name}.onnx", "", "| input | dynamic axes |", "|---|---|"]
        for one, axes in zip(graph.inputs, graph.shapes, strict=True):
            named = ", ".join(f"{number}: {axis}" for number, axis in axes.items())
            lines.append(f"| `{one}` | {named} |")
        lines += ["", "Outputs: " + ", ".join(f"`{one}`" for one in graph.outputs)]
    lines += [
        "",
        "Caches `self.*` have a past of length 0 at first; afterwards they are the outputs `next.self.*`.",
        f"Positions end at {LONGEST}, or where the model's own table of positions ends.",
        f"The begin symbol is {BEGIN}, the end symbol {END}. `parity.json` says how far both agree.",
    ]
    return "\n".join(lines) + "\n"
