"""Small trials of the whole machinery on this machine.

Promises about bits are kept by a processor and a library, not by us alone; so they are tried where they
are needed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, Literal, final

import torch
from torch import Tensor, nn

from regard.attention import watch
from regard.data.toys import toy
from regard.decode import DecodeSettings
from regard.models import (
    ClassifySettings,
    Decoder,
    Model,
    ModelSettings,
    PointSettings,
    RnnEncoderSettings,
    RnnReaderSettings,
    TagSettings,
    TransformerReaderSettings,
    TransformerSettings,
    build,
)
from regard.run.settings import TrainSettings
from regard.tasks import TASKS, Batch, Prediction, Task
from regard.tasks.batch import ALONE
from regard.tasks.names import task_for
from regard.text import TextSettings
from regard.training.optimise import make_optimiser

EXAMPLES = 200  # to learn a vocabulary from
ASKED = 12  # sentences that are asked alone and among others
COMPANIES = (2, 5, ASKED)  # how many sentences share a batch
BEAMS = (1, 3)
SHARED = 4096  # tokens a batch
LEARNED, MOST_STEPS = 0.05, 400  # one batch is learned by heart when its loss is below
CLOSE = 1e-4

_ENCODER = TransformerSettings(width=48, layers=2, heads=4, feedforward=96, dropout=0.0)
_READER = TransformerReaderSettings(width=48, layers=2, heads=4, feedforward=96, dropout=0.0)
_RNN = RnnEncoderSettings(width=48, dropout=0.0)
KINDS: Mapping[str, tuple[str, ModelSettings]] = {
    "Transformer": ("reverse", ModelSettings(encoder=_ENCODER, reader=_READER)),
    "RNN": ("reverse", ModelSettings(encoder=_RNN, reader=RnnReaderSettings(width=48, dropout=0))),
    "tagger": ("parts", ModelSettings(encoder=_ENCODER, reader=TagSettings(dropout=0))),
    "classifier": ("feelings", ModelSettings(encoder=_RNN, reader=ClassifySettings(dropout=0))),
    "pointer": ("sort", ModelSettings(encoder=_RNN, reader=PointSettings(width=48))),
    "language model": ("stories", ModelSettings(reader=_READER)),
}


@final
@dataclass(frozen=True, eq=False)
class Subject:
    """A tiny untrained model, the task around it, and examples to try it on."""

    task: Task
    model: Model
    questions: tuple[str, ...]
    batch: Batch  # all examples together

    @classmethod
    def make(cls, kind: str, device: torch.device, seed: int = 1) -> Subject:
        """One of `KINDS`, the same for the same seed."""
        name, settings = KINDS[kind]
        examples = list(toy(name).examples("train", EXAMPLES))
        text = TextSettings(kind=toy(name).unit)
        task = TASKS[task_for(toy(name).kind)].learn(lambda: iter(examples), text)
        torch.manual_seed(seed)
        model = build(settings, task.sizes).to(device).eval()
        chosen = examples[:ASKED]
        rows = task.rows(chosen)
        longest = [max(len(row[side]) for row in rows) for side in ("source", "target")]
        batch = task.collate(rows, longest[0], longest[1])
        questions = tuple(task.question(example) for example in chosen)
        return cls(task, model, questions, batch.to(device))


def trials(device: torch.device) -> Iterator[Finding]:
    """All of them, one after the other."""
    yield batch_invariance(device)
    yield from (overfitting(kind, device) for kind in ("Transformer", "RNN"))
    yield kernels_agree(device)
    yield determinism(device)


@torch.inference_mode()
def batch_invariance(device: torch.device) -> Finding:
    """A sentence has the same answer, to the last bit, alone and in any company (D1).

    That is what `--strict` promises, which works by one thread and reads one text at a time. In shared
    batches, which are faster, a processor may round some answers otherwise: how many is worth knowing.
    """
    compared, shared, differing, threads = 0, 0, [], torch.get_num_threads()
    try:
        torch.set_num_threads(1)
        for kind in KINDS:
            subject = Subject.make(kind, device)
            equal = list(_alone_and_together(subject, ALONE))
            compared += len(equal)
            differing += [kind] * (not all(equal))
            shared += sum(not same for same in _alone_and_together(subject, SHARED))
    finally:
        torch.set_num_threads(threads)
    name, remedy = "batch invariance", "report this processor: answers here depend on company"
    if differing:
        detail = f"no: {', '.join(differing)} differ in {compared} comparisons"
        # On a GPU only equal words are promised, and the bits are worth knowing.
        if device.type != "cpu":
            return Finding(name, "note", detail)
        return Finding.of(name, False, detail, remedy)
    detail = f"yes: {compared} answers alone and in company are equal to the last bit"
    return Finding.of(name, True, f"{detail} (in shared batches {shared} are rounded otherwise)")


def _alone_and_together(subject: Subject, tokens: int) -> Iterator[bool]:
    """Whether each answer is the same in companies of several sizes, whichever its neighbours are."""
    for beam in BEAMS if isinstance(subject.model.reader, Decoder) else (1,):
        settings = DecodeSettings(beam=beam, max_length=8)
        predict = partial(subject.task.predict, subject.model, settings=settings, tokens=tokens)
        alone = [predict([question])[0] for question in subject.questions]
        for size in COMPANIES:
            for start in range(0, ASKED, size):
                members = [*range(start, min(start + size, ASKED))][::-1]
                questions = [subject.questions[member] for member in members]
                answers = predict(questions)
                for member, answer in zip(members, answers, strict=True):
                    yield _bits(answer) == _bits(alone[member])


def _bits(answer: Prediction) -> tuple[object, ...]:
    numbers = (answer.score, *answer.log_probabilities)
    return (answer.text, answer.ids, *(number.hex() for number in numbers))


def overfitting(kind: str, device: torch.device) -> Finding:
    """One batch can be learned by heart: gradients reach what they must reach."""
    subject = Subject.make(kind, device)
    losses = []
    for loss in learning(subject, MOST_STEPS):
        losses.append(loss)
        if loss < LEARNED:
            break
    detail = f"loss {losses[0]:.2f} -> {losses[-1]:.3f} in {len(losses)} steps"
    remedy = "gradients do not flow: run the tests (`make test`) and report this"
    return Finding.of(f"{kind} learns one batch", losses[-1] < LEARNED, detail, remedy)


def learning(subject: Subject, steps: int) -> Iterator[float]:
    """The loss a target before each step on the same batch."""
    batch = subject.batch
    optimiser = make_optimiser(subject.model, TrainSettings(rate=5e-3))
    subject.model.train()
    for _ in range(steps):
        optimiser.zero_grad()
        loss = subject.task.loss(subject.model, batch) / batch.count
        loss.backward()
        nn.utils.clip_grad_norm_(subject.model.parameters(), 1.0)
        optimiser.step()
        yield loss.item()


@torch.inference_mode()
def kernels_agree(device: torch.device) -> Finding:
    """The fused kernel and the formula written out give the same, up to rounding."""
    subject = Subject.make("Transformer", device)
    batch = subject.batch
    fused = subject.task.logits(subject.model, batch)
    with watch(subject.model, lambda _path, aligned: aligned.weights):
        explicit = subject.task.logits(subject.model, batch)
    with watch(subject.model, lambda _path, aligned: aligned.weights.flip(-1)):
        control = subject.task.logits(subject.model, batch)
    apart, wrong = _apart(fused, explicit), _apart(fused, control)
    detail = f"fused and explicit differ by {apart:.1e} at most (wrong weights by {wrong:.1e})"
    remedy = "the attention kernel of this torch build is wrong here: try another version of torch"
    return Finding.of("attention kernels agree", apart < CLOSE < wrong, detail, remedy)


def _apart(one: Tensor, other: Tensor) -> float:
    return float((one - other).abs().max())


def determinism(device: torch.device) -> Finding:
    """The same seed gives the same weights; another seed gives others."""
    same = all(_repeats(kind, device, (1, 1)) for kind in ("Transformer", "RNN"))
    other = any(_repeats(kind, device, (1, 2)) for kind in ("Transformer", "RNN"))
    detail = "five steps taken twice end in the same bits" if same else "five steps end differently"
    if other:
        detail = "another seed ends in the same bits: this trial proves nothing"
    remedy = "set train.deterministic=true; a resumed run may otherwise differ in its last bits"
    if not same and device.type != "cpu":
        return Finding("determinism", "note", detail, remedy)
    return Finding.of("determinism", same and not other, detail, remedy)


def _repeats(kind: str, device: torch.device, seeds: Sequence[int]) -> bool:
    ends = []
    for seed in seeds:
        subject = Subject.make(kind, device, seed)
        for _ in learning(subject, 5):
            pass
        ends.append(list(subject.model.state_dict().values()))
    return all(torch.equal(one, other) for one, other in zip(*ends, strict=True))


# What a check came to: right, wrong with a remedy, or only worth knowing.

State = Literal["right", "wrong", "note"]


@final
@dataclass(frozen=True)
class Finding:
    """`name` is what was looked at, `detail` one sentence about it, `remedy` what to do."""

    name: str
    state: State
    detail: str
    remedy: str = ""

    @classmethod
    def of(cls, name: str, good: bool, detail: str, remedy: str = "") -> Finding:
        """A check that came out one way or the other; only a wrong one needs a remedy."""
        return cls(name, "right" if good else "wrong", detail, "" if good else remedy)

    @property
    def mark(self) -> str:
        """For people in a hurry."""
        return {"right": "✓", "wrong": "✗", "note": "·"}[self.state]

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)
