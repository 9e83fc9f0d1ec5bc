"""A model that somebody brings, with its tokenizer: answers as it does, and the same trace as ours.

>>> regard.trace(model, tokenizer, "two dogs run")
>>> regard.trace("folder/of/a/model", "two dogs run", second="they are fast")
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, final

import torch
from torch import Tensor, nn

from regard.answer.predictor import Predictor
from regard.answer.tracing import trace as trace_ours
from regard.attention.attention import INPUTS, TARGET
from regard.decode import DecodeSettings
from regard.errors import ModelFileError, RegardError, UsageError, kind_of
from regard.interop import tokens
from regard.interop.recorder import Recorder, recording, require_calls
from regard.interop.sites import sites_of
from regard.models import SOURCE
from regard.run.find import is_brought, read_bounded
from regard.run.folder import Run
from regard.tasks import Prediction
from regard.tasks.axis import Axis
from regard.tasks.search import Symbols
from regard.traces.replay import TracedStep, steps_of
from regard.traces.site import TracedSite
from regard.traces.trace import Trace

MOST = 20  # symbols that a language model adds to a text by default


@final
@dataclass(frozen=True, eq=False)
class Brought:
    """A model of somebody's own, and the tokenizer that cuts text for it."""

    model: nn.Module
    tokenizer: Any
    name: str = ""

    @classmethod
    def open(cls, folder: str | Path) -> Brought:
        """A folder as `save_pretrained` wrote it; nothing is fetched, and no code of it is run."""
        folder = Path(folder)
        library = library_for(str(folder))
        try:
            kind = _kind(folder, library)
            refuse_other_input(kind, str(folder))
            with quiet(library):
                model = kind.from_pretrained(folder, local_files_only=True)
                tokenizer = library.AutoTokenizer.from_pretrained(folder, local_files_only=True)
        except RegardError:
            raise
        except (OSError, ValueError, KeyError, ImportError, AttributeError, TypeError) as fault:
            raise _unopened(folder, fault) from None
        return cls(model.eval(), tokenizer, folder.name)

    @property
    def writes(self) -> bool:
        """Whether it generates text."""
        can = getattr(self.model, "can_generate", None)
        return bool(can is not None and can())

    @property
    def has_encoder(self) -> bool:
        """Whether a source is read by an encoder of its own."""
        return bool(getattr(getattr(self.model, "config", None), "is_encoder_decoder", False))

    def axis(self, text: str) -> Axis:
        """The pieces and words of a text, as its tokenizer cuts it."""
        return tokens.read(self.tokenizer, self.tokenizer(text, return_tensors="pt"), [text])

    @torch.no_grad()
    def layers(self, text: str) -> tuple[Tensor, list[Tensor]]:
        """The ids of a text, and the states behind each layer that reads it, from 0, the embedding."""
        self.model.eval()
        place = next(self.model.parameters()).device
        inputs = {
            name: value.to(place)
            for name, value in self.tokenizer(text, return_tensors="pt").items()
        }
        reads = self.model.get_encoder() if self.has_encoder else self.model  # type: ignore[operator]
        states = reads(**inputs, output_hidden_states=True).hidden_states
        if not states:
            raise UsageError(
                "this model gives no states of its layers", self.name, "take another model"
            )
        return inputs["input_ids"][0], [one[0].float() for one in states]

    @torch.no_grad()
    def trace(
        self,
        text: str,
        second: str | None = None,
        *,
        answer: str | None = None,
        beam: int | None = None,
        most: int | None = None,
    ) -> Trace:
        """What the model makes of a text, or of two, and what every attention did for it.

        One that generates answers first, as its own settings say, with `beam` hypotheses and at most `most`
        symbols; then that answer is forced through it, or the `answer` that is given.
        """
        if not isinstance(text, str):
            raise UsageError(f"{kind_of(text)} is no text", "text", "give a string")
        refuse_other_input(type(self.model), self.name or "model")
        self.model.eval()
        texts = [text] if second is None else [text, second]
        encoding = self.tokenizer(*texts, return_tensors="pt")
        place = next(self.model.parameters()).device
        inputs = {name: value.to(place) for name, value in encoding.items()}
        source = tokens.read(self.tokenizer, encoding, texts)
        question = text if second is None else f"{text} {tokens.SECOND} {second}"
        try:
            if self.has_encoder:
                return self._translated(question, source, inputs, answer, beam, most)
            if self.writes:
                return self._continued(question, inputs, answer, beam, most)
            return self._read(question, source, inputs)
        except RegardError:
            raise
        except Exception as fault:  # a model of somebody's own may fail in any way
            what = " ".join(str(fault).split())[:300]
            raise UsageError(
                f"this {type(self.model).__name__} failed on the text: {type(fault).__name__}: {what}",
                where=self.name or "model",
                remedy="try a shorter text; if the model itself cannot read it, regard cannot either",
            ) from fault

    def _translated(
        self,
        text: str,
        source: Axis,
        inputs: Mapping[str, Tensor],
        answer: str | None,
        beam: int | None,
        most: int | None,
    ) -> Trace:
        """An encoder reads, a decoder writes."""
        start = self._start()
        if answer is None:
            room = most or min(2 * len(source) + 20, self._room() - 2)
            ids = self._generated(inputs, beam, room)
        else:
            ids = [start, *self.tokenizer(text_target=answer)["input_ids"]]
        forced = torch.tensor([ids], device=inputs["input_ids"].device)
        with recording(self.model, eager=True) as recorder:
            output = self.model(**inputs, decoder_input_ids=forced[:, :-1], use_cache=False)
        said, logits = ids[1:], output.logits[0]
        target = tokens.written(self.tokenizer, said)
        first = tokens.name_of(self.tokenizer, ids[0])
        axes: dict[str, Axis] = {SOURCE: source, TARGET: target, INPUTS: target.later(first)}
        states = getattr(output, "encoder_last_hidden_state", None)
        sites = self._sites(recorder, axes, states)
        steps = steps_of(logits, said, self._name)
        return Trace("translate", self.name, text, self._said(said, steps), steps, axes, sites)

    def _continued(
        self,
        text: str,
        inputs: Mapping[str, Tensor],
        answer: str | None,
        beam: int | None,
        most: int | None,
    ) -> Trace:
        """One stack reads the text and goes on from it."""
        given = inputs["input_ids"][0].tolist()
        most = MOST if most is None else most
        if answer is not None:
            more = self.tokenizer(answer, add_special_tokens=False)["input_ids"]
            ids = [*given, *more]
        else:
            ids = self._generated(inputs, beam, most) if most else given
        forced = torch.tensor([ids], device=inputs["input_ids"].device)
        read, said = (ids[:-1], ids[1:]) if len(ids) > len(given) else (ids, ids[1:])
        with recording(self.model, eager=True) as recorder:
            output = self.model(input_ids=forced[:, : len(read)], use_cache=False)
        steps = steps_of(output.logits[0], said, self._name, len(given) - 1)
        axes: dict[str, Axis] = {INPUTS: tokens.written(self.tokenizer, read)}
        if len(said) == len(read):
            axes[TARGET] = tokens.written(self.tokenizer, said)
        sites = self._sites(recorder, axes, None)
        return Trace("language", self.name, text, self._said(ids, steps), steps, axes, sites)

    def _read(self, text: str, source: Axis, inputs: Mapping[str, Tensor]) -> Trace:
        """An encoder alone, with a label where it gives one."""
        with recording(self.model, eager=True) as recorder:
            output = self.model(**inputs)
        axes: dict[str, Axis] = {SOURCE: source}
        sites = self._sites(recorder, axes, None)
        logits = getattr(output, "logits", None)
        names = getattr(getattr(self.model, "config", None), "id2label", None)
        if logits is None or logits.dim() != 2 or not names:
            return Trace("language", self.name, text, Prediction(""), (), axes, sites)
        places = (0,) if self._labels_first(inputs) else ()
        label_ids = [int(logits[0].argmax())]
        (step,) = steps_of(logits, label_ids, lambda n: str(names.get(n, n)), places=places)
        others = tuple((one.symbol, one.log_probability) for one in step.alternatives)
        label = Prediction(step.symbol, step.log_probability, (step.symbol,), (step.id,))
        label = Prediction(
            label.text,
            label.score,
            label.symbols,
            label.ids,
            (step.log_probability,),
            alternatives=others,
        )
        return Trace("classify", self.name, text, label, (step,), axes, sites)

    def _labels_first(self, inputs: Mapping[str, Tensor]) -> bool:
        """Whether the label is read from the state of the first token, made for that (Devlin 2019)."""
        first = int(inputs["input_ids"][0, 0]) if "input_ids" in inputs else None
        pooling = getattr(self.model.config, "classifier_pooling", "cls")  # ModernBERT has a choice
        return first is not None and first == self.tokenizer.cls_token_id and pooling == "cls"

    def _generated(self, inputs: Mapping[str, Tensor], beam: int | None, most: int) -> list[int]:
        """The ids of the best hypothesis, with what it began from."""
        changes: dict[str, Any] = {"max_new_tokens": most, "do_sample": False}
        if beam is not None:
            changes["num_beams"] = beam
        ids = self.model.generate(**inputs, **changes)[0].tolist()  # type: ignore[operator]
        pad, end = self.tokenizer.pad_token_id, self.tokenizer.eos_token_id
        first = 1 if self.has_encoder else inputs["input_ids"].shape[1]
        while len(ids) > first + 1 and ids[-1] == pad and pad != end:
            ids.pop()
        return list(ids)

    def _room(self) -> int:
        """How many positions it can write, where it says so."""
        config = getattr(self.model, "config", None)
        part = getattr(config, "get_text_config", None)  # of two models made one, the decoder's
        config = config if part is None else part(decoder=True)
        longest = getattr(config, "max_position_embeddings", None)
        return longest if isinstance(longest, int) and longest > 2 else 1 << 20

    def _start(self) -> int:
        places = getattr(self.model, "generation_config", None), getattr(self.model, "config", None)
        for name in ("decoder_start_token_id", "bos_token_id"):
            for place in places:
                if (start := getattr(place, name, None)) is not None:
                    return int(start)
        raise UsageError("this model says no first symbol", "decoder_start_token_id", "set it")

    def _name(self, number: int) -> str:
        return tokens.name_of(self.tokenizer, number)

    def _said(self, ids: list[int], steps: tuple[TracedStep, ...]) -> Prediction:
        end = self.tokenizer.eos_token_id
        ended = bool(ids) and ids[-1] == end
        said = ids[:-1] if ended else ids
        return Prediction(
            self.tokenizer.decode(said, skip_special_tokens=True),
            math.fsum(step.log_probability for step in steps if not step.given),
            tuple(map(self._name, said)),
            tuple(said),
            tuple(step.log_probability for step in steps),
            "end" if ended else "length",
        )

    def _sites(
        self, recorder: Recorder, axes: dict[str, Axis], states: Tensor | None
    ) -> tuple[TracedSite, ...]:
        if not recorder.seen:
            require_calls(self.model, recorder)
        return sites_of(self.model, recorder, axes, states)


def _kind(folder: Path, library: Any) -> Any:
    """The class of the model in a folder, as its configuration says."""
    settings = json.loads(read_bounded(folder / "config.json", "configuration", 1 << 22))
    kinds = settings.get("architectures")
    return getattr(library, (kinds or ["AutoModel"])[0], library.AutoModel)


def task_of(architecture: str) -> str:
    """The task whose words fit a model of this class; one that only reads says nothing."""
    if architecture.endswith(("ForConditionalGeneration", "MTModel")):
        return "translate"
    return "classify" if architecture.endswith("ForSequenceClassification") else "language"


def check_folder(folder: str | Path) -> None:
    """Refuse a folder that cannot be looked into by text, without reading its weights."""
    folder = Path(folder)
    library = library_for(str(folder))
    try:
        kind = _kind(folder, library)
        with quiet(library):
            library.AutoConfig.from_pretrained(folder, local_files_only=True)
    except (OSError, ValueError, KeyError, AttributeError) as fault:
        raise _unopened(folder, fault) from None
    refuse_other_input(kind, str(folder))


def _unopened(folder: Path, fault: Exception) -> ModelFileError:
    what = " ".join(str(fault).split())[:300]
    remedy = "it needs config.json, the weights and the tokenizer, as save_pretrained writes them"
    pieces = next((one for end in ("*.spm", "*.model") for one in folder.glob(end)), None)
    if pieces is not None and find_spec("sentencepiece") is None:
        what = f"{pieces.name} is read by the library sentencepiece, which is not installed"
        remedy = "pip install 'regard[hf]'"
    return ModelFileError(f"transformers cannot open this folder: {what}", str(folder), remedy)


def refuse_other_input(kind: Any, where: str) -> None:
    """Models of pictures or sounds are looked into where they are called."""
    given = getattr(kind, "main_input_name", "input_ids")
    if given in {"input_ids", "inputs_embeds"}:
        return
    raise UsageError(
        f"this {kind.__name__} reads {given.replace('_', ' ')}, and no text",
        where=where,
        remedy=f"call it in Python: `with regard.watch(model) as seen: model({given}=...)`, and ask "
        "`seen.weights(path)` for its maps",
    )


def library_for(where: str) -> Any:
    """Hugging Face's library, which is an extra."""
    try:
        import transformers
    except ImportError:
        raise UsageError(
            "models of Hugging Face need the library transformers, which is not installed",
            where=where,
            remedy="pip install 'regard[hf]'",
        ) from None
    return transformers


@contextmanager
def quiet(library: Any) -> Iterator[None]:
    """Without its bars and advice: what it has to say to our users is said by us."""
    logging = library.utils.logging
    level = logging.get_verbosity()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        logging.enable_progress_bar()


def trace(  # noqa: PLR0913
    model: Predictor | Run | str | Path | nn.Module | Brought,
    tokenizer: Any = None,
    text: str | DecodeSettings | None = None,
    second: str | None = None,
    *,
    settings: DecodeSettings | None = None,
    beam: int | None = None,
    prefix: Symbols = (),
    truncate: bool = False,
    to: str | None = None,
    answer: Prediction | str | None = None,
    most: int | None = None,
) -> Trace:
    """Answer a text and keep everything that every attention did for it.

    `trace(run, text)` for a model of ours, by its path or as `regard.load` gives it: `prefix` gives the first
    symbols of the answer, `to` the language, and an `answer` that `predict` gave is replayed as it is.

    `trace(model, tokenizer, text)` for a model of Hugging Face's, or `trace(folder, text)`: `second` is the
    second text of a pair, and a model that generates answers with at most `most` symbols.
    """
    if isinstance(model, nn.Module):
        brought = Brought(model, _tokenizer(tokenizer), type(model).__name__)
        return _trace_brought(brought, text, second, answer, beam, most)
    if isinstance(model, str | Path) and is_brought(model):
        model = Brought.open(model)
    if isinstance(model, Brought):
        pair = (tokenizer, text) if isinstance(tokenizer, str) else (text, second)
        return _trace_brought(model, pair[0], second or pair[1], answer, beam, most)
    if isinstance(text, str):
        raise UsageError(
            "a run of ours has its own tokenizer, and answers one text",
            where="trace(run, text)",
            remedy="give the run and the text alone",
        )
    if isinstance(answer, str):
        raise UsageError("an answer is what `predict` gave", "answer", "give that, not its text")
    return trace_ours(
        model,
        tokenizer,
        settings or text,
        beam=beam,
        prefix=prefix,
        truncate=truncate,
        to=to,
        answer=answer,
    )


def _trace_brought(
    brought: Brought, text: Any, second: Any, answer: Any, beam: int | None, most: int | None
) -> Trace:
    own = answer.text if isinstance(answer, Prediction) else answer
    return brought.trace(text, second, answer=own, beam=beam, most=most)


def _tokenizer(given: Any) -> Any:
    if callable(given) and hasattr(given, "convert_ids_to_tokens"):
        return given
    raise UsageError(
        f"a model that is brought needs its tokenizer, and this is {kind_of(given)}",
        where="trace(model, tokenizer, text)",
        remedy="give what AutoTokenizer.from_pretrained gives",
    )
