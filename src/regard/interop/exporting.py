"""A run taken away: written in another library's format, opened there, and compared with what it was.

>>> regard export runs/mine --to huggingface --out taken
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any, Literal, Protocol, final, runtime_checkable

import torch
from torch import Tensor

from regard import __version__
from regard.data.toys import TOYS
from regard.errors import UsageError
from regard.interop.bring import library_for, quiet
from regard.interop.outline import UNSAID, Outgoing
from regard.interop.to_huggingface import Written, written
from regard.interop.tokenizer_out import around, codec_of_task, marian_files, tokenizer_files
from regard.models.decoder import Decoder
from regard.run import files, weights
from regard.run.folder import Run
from regard.tasks.names import example_of
from regard.text import BEGIN, PAD
from regard.text.keep import languages, tag

Target = Literal["huggingface", "ctranslate2"]
LONGEST = 32  # symbols of each answer that is compared
NEAR = 1e-3  # log-probabilities that differ by more are not the same model's
LIKELY = -20.0  # what is less likely than e^-20 is not compared
REPORT = "parity.json"


@runtime_checkable
class Held(Protocol):
    """A model opened again by the library that it was written for."""

    def cut(self, text: str) -> list[int] | None:
        """The ids that its own tokenizer gives a question; None where it has none."""

    def answer(self, source: list[int], most: int) -> list[int]:
        """What it says, by itself, of these ids: symbols with their end, or a label a place."""

    def chances(self, source: list[int], said: list[int]) -> Tensor:
        """Log-probabilities of all choices (steps, choices), or of what was said (steps), when forced."""


@final
@dataclass(frozen=True)
class Parity:
    """How far what was written agrees with the run."""

    format: str
    architecture: str
    texts: int
    same_ids: int | None
    same_answers: int
    difference: float  # the largest between log-probabilities of the same steps

    @property
    def holds(self) -> bool:
        """Whether it is the same model."""
        cut = self.texts if self.same_ids is None else self.same_ids
        return cut == self.same_answers == self.texts and self.difference < NEAR

    def words(self) -> str:
        """The report in a line."""
        cut = "" if self.same_ids is None else f"{self.same_ids} of {self.texts} texts cut alike, "
        verdict = "parity holds" if self.holds else "PARITY FAILS"
        return (
            f"{verdict}: {cut}{self.same_answers} of {self.texts} answers alike to the symbol, largest "
            f"difference of a log-probability {self.difference:.1e}"
        )


def export(run: Run, target: Target, out: Path, texts: Sequence[str] | None = None) -> Parity:
    """Write a run in a format of others, open it there, and compare; the report lies beside it."""
    if out.exists():
        raise UsageError(f"{out.name} is there already", str(out), "choose a new folder")
    need(target)
    if run.task.searches and run.settings.text.start != "begin":
        raise UsageError(
            "this decoder starts from the end sign, and other formats are written to start from a begin sign",
            where="text.start",
            remedy='train it with text.start = "begin"',
        )
    leaving = Outgoing.of(run)
    chosen = list(texts) if texts is not None else questions(run)
    match target:
        case "huggingface":
            made: tuple[str, Callable[[], Held]] = _huggingface(leaving, out)
        case "ctranslate2":
            from regard.interop import to_ctranslate2

            made = to_ctranslate2.write(leaving, out)
    architecture, opened = made
    parity = compare(leaving, opened(), chosen, target, architecture)
    report = {**asdict(parity), "holds": parity.holds, "regard": __version__}
    files.write_atomic(out / REPORT, (json.dumps(report, indent=1) + "\n").encode())
    return parity


def need(target: Target) -> None:
    """Say which extra brings what is missing, before anything is written."""
    if target == "huggingface":
        library_for("--to huggingface")
        return
    try:
        import_module(target)
    except ImportError:
        raise UsageError(
            f"--to {target} needs the library {target}, which is not installed",
            where=f"--to {target}",
            remedy="pip install 'regard[export]'",
        ) from None


def questions(run: Run, most: int = 100) -> list[str]:
    """What to compare by: the run's own validation texts, or examples of a toy of the same kind."""
    if (run.folder / "data" / "probes.jsonl").is_file():
        own = [question for question, _ in run.probes() if question.strip()]
        if own:
            return own[:most]
    kind = example_of(run.task.name)
    toy = next((toy for toy in TOYS.values() if toy.kind is kind), None)
    if toy is None:
        raise UsageError("there is no text to compare by", "--check", "name a file with texts")
    texts = [run.task.question(one) for one in islice(toy.examples("valid"), most)]
    codes = languages(run.settings.text.symbols)
    return (
        [f"{tag(codes[n % len(codes)])} {text}" for n, text in enumerate(texts)] if codes else texts
    )


@torch.no_grad()
def compare(
    leaving: Outgoing, held: Held, texts: Sequence[str], target: str, architecture: str
) -> Parity:
    """Both answer by themselves; then both are forced along our answer, and their numbers compared."""
    task = leaving.run.task
    ours = Ours(leaving)
    cut, same, worst, known = 0, 0, 0.0, True
    for text in texts:
        source = [int(number) for number in task.encode(text)] or task.prompt(text)
        given = held.cut(text)
        known = known and given is not None
        cut += given == ours.framed(source)
        said = ours.answer(source, LONGEST)
        same += held.answer(source, LONGEST) == said
        expected, found = ours.chances(source, said), held.chances(source, said)
        if found.dim() == 1:
            expected = expected[torch.arange(len(said)), torch.tensor(said)]
        seen = expected > LIKELY
        if bool(seen.any()):
            worst = max(worst, float((expected - found)[seen].abs().max()))
    return Parity(target, architecture, len(texts), cut if known else None, same, worst)


@final
class Ours:
    """Our own model in the same words, by the formula: greedy steps, and forced ones."""

    def __init__(self, leaving: Outgoing) -> None:
        self.model, self.task = leaving.model, leaving.run.task
        self.writes = isinstance(self.model.reader, Decoder)
        self.continues = self.model.encoder is None

    def framed(self, source: list[int]) -> list[int]:
        """What a tokenizer gives: a text that is continued has the begin symbol in front."""
        return [BEGIN, *source] if self.continues else source

    def answer(self, source: list[int], most: int) -> list[int]:
        """The likeliest symbol at each step."""
        if not self.writes:
            return self.chances(source, []).argmax(-1).tolist()
        reader = self.model.decoder
        encoded = self.model.encode(torch.tensor([source if not self.continues else []]).long())
        given = source if self.continues else []
        state, said, symbol = reader.start(encoded, len(given) + most + 1), [], reader.begin
        for forced in [*given, *[None] * most]:
            logits, state = reader.step(state, torch.tensor([symbol]))
            symbol = int(logits[0].argmax()) if forced is None else forced
            if forced is None:
                said.append(symbol)
                if symbol == reader.end:
                    break
        return said

    def chances(self, source: list[int], said: list[int]) -> Tensor:
        """All choices of all steps."""
        if not self.writes:
            logits = self.model(torch.tensor([source]))
            return logits[0].reshape(-1, logits.shape[-1]).log_softmax(-1)
        before = source if self.continues else []
        inputs = torch.tensor([[self.model.decoder.begin, *before, *said[:-1]]])
        rows = torch.tensor([source if not self.continues else []]).long()
        return self.model(rows, None, inputs)[0, len(before) :].log_softmax(-1)


def _huggingface(leaving: Outgoing, out: Path) -> tuple[str, Callable[[], Held]]:
    """The folder, and how transformers opens it again."""
    task = leaving.run.task
    made, codec = written(leaving), codec_of_task(task, "--to huggingface")
    documents: dict[str, bytes] = {}
    if codec.settings.kind == "sentencepiece":
        documents = marian_files(codec, task.target)  # type: ignore[attr-defined]
        made.config["decoder_start_token_id"] = made.generation["decoder_start_token_id"] = PAD
    else:
        own = tokenizer_files(codec, around(task, codec))
        documents = {name: text.encode() for name, text in own.items()}
    head = {"model_type": made.kind, "architectures": [made.architecture]}
    documents["config.json"] = (
        json.dumps(head | made.config, indent=1, ensure_ascii=False) + "\n"
    ).encode()
    if made.generation:
        documents["generation_config.json"] = (
            json.dumps(made.generation, indent=1) + "\n"
        ).encode()
    documents["README.md"] = _card(leaving.run, made, out).encode()
    layout = weights.lay_out(made.tensors, {"format": "pt"})
    with files.new_folder(out, out.name, layout.size) as temporary:
        for name, content in documents.items():
            files.write_new(temporary / name, content)
        files.write_new(temporary / "model.safetensors", layout.pieces(), layout.size)
    return made.architecture, lambda: Opened(out, made)


@final
class Opened:
    """The folder as `transformers` has it."""

    def __init__(self, folder: Path, made: Written) -> None:
        library = library_for(str(folder))
        with quiet(library):
            kind = getattr(library, made.architecture)
            self.model = kind.from_pretrained(folder, local_files_only=True).eval()
        self.tokenizer: Any = None
        try:
            self.tokenizer = library.AutoTokenizer.from_pretrained(folder, local_files_only=True)
        except ImportError:  # a sentencepiece tokenizer, and its library is not there
            if made.kind != "marian":
                raise
        self.reads = bool(made.config.get("is_encoder_decoder"))
        self.writes = bool(made.generation)
        self.start = int(made.config.get("decoder_start_token_id", BEGIN))
        self.unsaid = made.generation.get("suppress_tokens", [])

    def cut(self, text: str) -> list[int] | None:
        """By its own tokenizer."""
        if self.tokenizer is None:
            return None
        return list(self.tokenizer(text)["input_ids"])

    def answer(self, source: list[int], most: int) -> list[int]:
        """By `generate`, one hypothesis."""
        if not self.writes:
            return self.chances(source, []).argmax(-1).tolist()
        given = torch.tensor([source if self.reads else [BEGIN, *source]])
        found = self.model.generate(
            given,
            attention_mask=torch.ones_like(given),
            num_beams=1,
            do_sample=False,
            max_length=most + (1 if self.reads else given.shape[1]),
        )[0].tolist()
        return found[1:] if self.reads else found[given.shape[1] :]

    def chances(self, source: list[int], said: list[int]) -> Tensor:
        """Forced once."""
        if not self.writes:
            logits = self.model(input_ids=torch.tensor([source])).logits
            return logits[0].reshape(-1, logits.shape[-1]).log_softmax(-1)
        if self.reads:
            forced = torch.tensor([[self.start, *said[:-1]]])
            logits = self.model(torch.tensor([source]), decoder_input_ids=forced).logits[0]
        else:
            forced = torch.tensor([[BEGIN, *source, *said[:-1]]])
            logits = self.model(forced).logits[0, len(source) :]
        logits[:, self.unsaid] += UNSAID
        return logits.log_softmax(-1)


def _card(run: Run, made: Written, out: Path) -> str:
    opener = "AutoModelForSeq2SeqLM" if made.config.get("is_encoder_decoder") else made.architecture
    return f"""# {out.name}

A model trained with regard (task: {run.task.name}), as `{made.architecture}` of transformers. Nothing but
names and the order of numbers was changed; `{REPORT}` says how far both agree.

```python
from transformers import AutoTokenizer, {opener}

tokenizer = AutoTokenizer.from_pretrained("{out.name}")
model = {opener}.from_pretrained("{out.name}")
```

What regard does around a model is not in it: cutting running text into sentences, guessing its language.
A translator of several languages is told its target in front of the text: `>>de<< Good morning.`
Beams are ranked there by the mean of log-probabilities, which is `decode.penalty = "average"` here.

"""
