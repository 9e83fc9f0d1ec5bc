"""A whole step as one recording: forward, backward, clip and update are launched as one thing.

The one idea: packed batches have one shape, so every step does the same work on the same memory. What changes
from step to step, the batch, its count, the rate and the seed, is written where the recording reads it.
Padded batches have a few shapes, and are recorded where the decoder is recurrent or a picture is convolved:
their many small operations take longer to launch than to do.
"""

from __future__ import annotations

import traceback
import warnings
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from copy import deepcopy
from dataclasses import dataclass
from functools import partial
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from regard.layers import Convolution
from regard.models import Model, RnnDecoder
from regard.run.device import is_out_of_memory
from regard.run.settings import TrainSettings
from regard.tasks import Batch
from regard.training import update
from regard.training.feed import Turn
from regard.training.progress import Learned
from regard.training.step import StepForm, Stepper, WholeSteps
from regard.training.world import World

Numbers = Float[Tensor, " numbers"]
Work = Callable[[], Numbers]


class Recorder(ABC):
    """Does work, and writes down what was done."""

    @abstractmethod
    def rehearse(self, work: Work, *, last: bool) -> Numbers:
        """Do the work as a recording will find it; the `last` time, refuse what cannot be recorded."""

    @abstractmethod
    def has_room(self) -> bool:
        """Whether recordings can have a memory of their own, beside that of steps in the usual way."""

    @abstractmethod
    def record(self, work: Work) -> Work:
        """The same work, without Python in between; recording it does not do it."""


class WaitingError(Exception):
    """The work waits for the device somewhere, which a recording cannot."""


class UnrecordableError(Exception):
    """The work can be done, and not recorded."""


@final
class Graphs(Recorder):
    """CUDA graphs, which share their memory."""

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self.stream = torch.cuda.Stream(device)
        self.pool = torch.cuda.graph_pool_handle()

    def rehearse(self, work: Work, *, last: bool) -> Numbers:
        """On a stream of its own, where libraries make ready what they need."""
        usual = torch.cuda.current_stream(self.device)
        self.stream.wait_stream(usual)
        try:
            with torch.cuda.stream(self.stream), _no_waiting(last):
                result = work()
        except RuntimeError as fault:
            if "synchronizing CUDA operation" not in str(fault):
                raise
            raise WaitingError from fault
        finally:
            usual.wait_stream(self.stream)
        result.record_stream(usual)
        return result

    def has_room(self) -> bool:
        """Twice what steps have needed so far."""
        whole = torch.cuda.get_device_properties(self.device).total_memory
        return 2 * torch.cuda.max_memory_allocated(self.device) < whole

    def record(self, work: Work) -> Work:
        """Threads that make batches go on meanwhile: only what this one does is recorded."""
        graph = torch.cuda.CUDAGraph()
        recording = torch.cuda.graph(
            graph, pool=self.pool, stream=self.stream, capture_error_mode="thread_local"
        )
        with torch.cuda.device(self.device), recording:
            result = work()

        def play() -> Numbers:
            graph.replay()
            return result

        return play


@contextmanager
def _no_waiting(strict: bool) -> Iterator[None]:
    """Torch refuses to wait for the device, if `strict`."""
    before = torch.cuda.get_sync_debug_mode()
    try:
        _refuse_waiting("error" if strict else before)
        yield
    finally:
        _refuse_waiting(before)


def _refuse_waiting(mode: int | str) -> None:
    with warnings.catch_warnings():  # that it may miss something
        warnings.simplefilter("ignore")
        torch.cuda.set_sync_debug_mode(mode)


def _graphs(device: torch.device, _: Learned) -> Recorder:
    return Graphs(device)


@final
@dataclass(frozen=True)
class RecordedStep(StepForm):
    """Takes `rehearsals` steps of a shape before it records one.

    `most` shapes are recorded, since a recording holds the memory of a step. Padded ones may be
    `most_padded`: their recordings take turns on one memory. A padded shape is recorded when it has come
    more than `often` times: the last batches of a window have rare ones.
    """

    rehearsals: int = 3
    most: int = 4
    most_padded: int = 64
    often: int = 2
    devices: tuple[str, ...] = ("cuda",)
    recorder: Callable[[torch.device, Learned], Recorder] = _graphs

    def takes(self, settings: TrainSettings, world: World, learned: Learned) -> bool:
        """Steps of one batch on one GPU can be recorded, if they are compiled or have many operations."""
        alone = world.size == 1 and settings.accumulate == 1
        gains = settings.compile or has_many_operations(learned.model)
        fits = settings.record and gains and alone and learned.is_fused
        return fits and world.device.type in self.devices

    def prepare(
        self, stepper: Stepper, learned: Learned, tell: Callable[[str], None]
    ) -> Recordings:
        """Nothing is recorded yet."""
        recorder = self.recorder(stepper.world.device, learned)
        return Recordings(self, stepper, learned, recorder, tell)


FORMS: tuple[StepForm, ...] = (RecordedStep(),)


@final
@dataclass(eq=False)
class _Stage:
    """Memory that batches of one shape are copied into, and the step that reads it."""

    batch: Batch
    share: Float[Tensor, ""]  # one over the number of targets
    read: tuple[Tensor, ...] = ()  # what the recording reads must not be freed
    steps: int = 0
    play: Work | None = None

    def put(self, batch: Batch) -> None:
        for own, new in zip(_tensors(self.batch), _tensors(batch), strict=True):
            own.copy_(new, non_blocking=True)
        self.share.fill_(1 / max(1, batch.count))


@final
class Recordings(WholeSteps):
    """Takes steps, recorded where that can be; `tell` hears why it cannot."""

    def __init__(
        self,
        form: RecordedStep,
        stepper: Stepper,
        learned: Learned,
        recorder: Recorder,
        tell: Callable[[str], None],
    ) -> None:
        self.form, self.stepper, self.learned, self.tell = form, stepper, learned, tell
        self.recorder: Recorder | None = recorder
        self.clip = stepper.settings.clip
        self.fault = ""  # in full, why there are no recordings any more
        self._parameters = list(learned.model.parameters())
        reader = learned.model.reader
        self._takes_padded = has_many_operations(learned.model)
        self._steps: Callable[[], AbstractContextManager[None]] = nullcontext
        if isinstance(reader, RnnDecoder) and stepper.settings.compile:
            self._steps = partial(reader.stepping_by, torch.compile(reader.advance, dynamic=True))
        self._stages: dict[tuple[object, ...], _Stage] = {}
        self._seen: Counter[tuple[object, ...]] = Counter()

    def take(self, step: int, turn: Turn) -> Callable[[], list[float]] | None:
        """The step's numbers, to be read later; None when it was not taken, and must be in the usual way."""
        if self.recorder is None or len(turn.batches) != 1:
            return None
        if turn.batches[0].packing is None and not self._takes_padded:
            return None
        if self.stepper.limit is not None and turn.pieces[0].tokens > self.stepper.limit:
            return None
        stage = self._stage(turn.batches[0], self.recorder)
        if stage is None:
            return None
        stage.put(turn.batches[0])
        try:
            return update.later(self._taken(step, stage, self.recorder))
        except WaitingError as fault:
            self._give_up("a part of the model waits for the device", fault)
        except UnrecordableError as fault:
            self._give_up("the device would not record one", fault)
        except (torch.OutOfMemoryError, MemoryError, RuntimeError) as fault:
            if not is_out_of_memory(fault):
                fault.add_note("train.record = false takes steps without recording them")
                raise
            if stage.steps <= self.form.rehearsals:
                self.stepper.lower(turn.pieces[0], fault)
            self._give_up("there is no memory for a recording", fault)
        return None

    def _taken(self, step: int, stage: _Stage, recorder: Recorder) -> Numbers:
        stage.steps += 1
        work = partial(self._work, stage)
        if stage.steps > self.form.rehearsals and stage.play is None:
            # A table that is replaced by a longer one is still read by what was recorded before.
            stage.read = (*self._parameters, *self.learned.model.buffers())
            stage.play = self._recorded(work, recorder)
            self.stepper.learner.zero_grad(set_to_none=True)
        self.stepper.draw(step)
        if stage.play is None:
            return recorder.rehearse(work, last=stage.steps == self.form.rehearsals)
        result = stage.play()
        update.changed(self.learned.optimiser)
        return result

    def _recorded(self, work: Work, recorder: Recorder) -> Work:
        try:
            with _capturable(self.learned.optimiser):
                return recorder.record(work)
        except RuntimeError as fault:  # nothing was done yet: the step can still be taken as usual
            if is_out_of_memory(fault):
                raise
            raise UnrecordableError from fault

    def _work(self, stage: _Stage) -> Numbers:
        """All that the device does in a step."""
        self.stepper.learner.zero_grad(set_to_none=True)
        with self._steps():
            loss = self.stepper.backward(stage.batch, stage.share)
        return update.stepped(self.learned, loss.double(), self.clip)

    def _stage(self, batch: Batch, recorder: Recorder) -> _Stage | None:
        shape = _shape(batch)
        if shape not in self._stages and self._is_worth_it(shape, batch, recorder):
            own = deepcopy(batch.to(self.stepper.world.device))
            self._stages[shape] = _Stage(own, torch.ones_like(self._parameters[0].detach().sum()))
        return self._stages.get(shape)

    def _is_worth_it(self, shape: tuple[object, ...], batch: Batch, recorder: Recorder) -> bool:
        if batch.packing is not None:
            return len(self._stages) < self.form.most
        self._seen[shape] += 1
        often = self._seen[shape] > self.form.often
        return often and len(self._stages) < self.form.most_padded and recorder.has_room()

    def _give_up(self, why: str, fault: Exception) -> None:
        self.recorder, self.fault = None, "".join(traceback.format_exception(fault))
        self._stages.clear()
        self.stepper.learner.zero_grad(set_to_none=True)
        self.tell(f"steps are not recorded: {why}")


def has_many_operations(model: Model) -> bool:
    """Whether a step is so many small operations that to launch them takes longer than to do them."""
    convolves = any(isinstance(part, Convolution) for part in model.modules())
    return convolves or isinstance(model.reader, RnnDecoder)


def _tensors(batch: Batch) -> tuple[Tensor, ...]:
    sides = () if batch.packing is None else (batch.packing.source, batch.packing.target)
    places = (tensor for side in sides for tensor in side.tensors)
    return *batch.tensors, *places


def _shape(batch: Batch) -> tuple[object, ...]:
    """All that the host decides by."""
    packing = batch.packing
    longest = () if packing is None else (packing.source.longest, packing.target.longest)
    return *((tensor.shape, tensor.dtype) for tensor in _tensors(batch)), *longest


@contextmanager
def _capturable(optimiser: torch.optim.Optimizer) -> Iterator[None]:
    """Torch wants to be told that a step will be recorded, and warns where it then is not."""
    for group in optimiser.param_groups:
        group["capturable"] = True
    try:
        yield
    finally:
        for group in optimiser.param_groups:
            group["capturable"] = False
