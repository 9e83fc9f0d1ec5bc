"""The engine of a decoder: packed weights, one session a shape, and the loop that the host runs beside it."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, final
from weakref import WeakKeyDictionary

import torch
from jaxtyping import Int
from torch import Tensor

from regard.accelerate.cuda_graph.operations import Operations, Plain, step
from regard.accelerate.cuda_graph.read_back import Record, Stretch, read
from regard.accelerate.cuda_graph.search_state import Shape, State, Weights, pack, packs
from regard.accelerate.plain import Written, written
from regard.attention import Learned
from regard.decode import SearchForm
from regard.decode.candidates import Prefix
from regard.decode.hypothesis import Hypothesis
from regard.models import Decoder, Encoded, TransformerDecoder
from regard.settings.decode import DecodeSettings


@final
@dataclass(frozen=True, eq=False)
class RecordedSearch(SearchForm):
    """Greedy and beam search over a plain Transformer decoder, on a GPU.

    `slots` is the widest beam that one program of a kernel ranks. Caches start with `positions`, and grow
    by the factor `growth`. Fewer hypotheses than `crowd` cost a GPU as much as one. Sessions that wait may
    hold a share of the GPU's memory, `keep`.
    """

    slots: int = 16
    positions: int = 64
    growth: int = 4
    crowd: int = 128
    keep: float = 1 / 8
    devices: tuple[str, ...] = ("cuda",)
    engines: WeakKeyDictionary[Decoder[Any], Engine] = field(default_factory=WeakKeyDictionary)
    _lock: Lock = field(default_factory=Lock)

    def takes(
        self,
        decoder: Decoder[Any],
        encoded: Encoded,
        settings: DecodeSettings,
        prefix: Prefix | None,
    ) -> bool:
        """Whether nothing is forced or drawn, and the decoder is a plain Transformer."""
        return (
            prefix is None
            and not settings.sample
            and settings.beam <= self.slots
            and len(encoded.states) > 0
            and encoded.states.shape[1] > 0
            and packs(decoder)
            and _has_places(decoder, settings.max_length)
        )

    @torch.inference_mode()
    def search(
        self, decoder: Decoder[Any], encoded: Encoded, settings: DecodeSettings
    ) -> list[list[Hypothesis]]:
        """The best `top_beams` hypotheses of each row, best first."""
        assert isinstance(decoder, TransformerDecoder)
        device = encoded.states.device
        dtype, now = _precision(decoder, device), written(decoder)
        with self._lock:
            engine = self.engines.get(decoder)
            if engine is None or not engine.fits(now, dtype, device):
                engine = self.engines[decoder] = Engine(self, decoder, dtype, now)
        with engine.lock, torch.autocast(device.type, enabled=False):
            engine.refresh(decoder, now)
            return engine.search(encoded, settings)


@final
class Engine:
    """Sessions are kept, the newest used last, while they fit into a share of the memory."""

    def __init__(
        self,
        form: RecordedSearch,
        decoder: TransformerDecoder,
        dtype: torch.dtype,
        now: Written,
    ) -> None:
        self.form, self.lock = form, Lock()
        self.weights: Weights = pack(decoder, dtype)
        self.written = now
        self.sessions: OrderedDict[Shape, Session] = OrderedDict()

    def fits(self, now: Written, dtype: torch.dtype, device: torch.device) -> bool:
        """Whether the packed weights have this precision and place, and the decoder its old shape."""
        if (self.weights.dtype, self.weights.table.device) != (dtype, device):
            return False
        return now == self.written or _shapes(now) == _shapes(self.written)

    def refresh(self, decoder: TransformerDecoder, now: Written) -> None:
        """Training goes on between searches: new values go where recorded steps will read them."""
        if now == self.written:
            return
        fresh = pack(decoder, self.weights.dtype)
        for old, new in zip(self.weights.tensors(), fresh.tensors(), strict=True):
            old.copy_(new)
        self.written = now

    def search(self, encoded: Encoded, settings: DecodeSettings) -> list[list[Hypothesis]]:
        """Step until every row is closed, moving to a smaller or a roomier session where that pays."""
        batch, sources = encoded.states.shape[:2]
        places = self._places(sources)
        shape = Shape(_rows(batch), settings.beam, self.form.positions, places)
        session = self.session(shape)
        lengths = torch.full((batch,), sources, device=encoded.states.device)
        if encoded.padding is not None:
            lengths = encoded.padding.lengths
        session.state.begin(self.weights, encoded.states, lengths, settings)
        rows = torch.arange(batch, device=lengths.device)
        stretches: list[Stretch] = []
        first, number, look = 0, 0, Look(session.state.is_open)
        for number in range(1, settings.max_length + 1):
            session.step()
            if number == settings.max_length:
                break
            still = look.ask() if number > settings.min_length else None
            if still == 0:
                break
            if number == session.state.shape.positions or self._pays(session, still):
                stretches.append(session.stretch(rows, first, number))
                session, rows = self.move(session, rows, number, settings)
                first, look = number, Look(session.state.is_open)
        stretches.append(session.stretch(rows, first, number))
        return read(Record.of(stretches, batch), settings)

    def _pays(self, session: Session, still: int | None) -> bool:
        """Half the rows cost less only where the rows, and not the launches, are what a step costs."""
        shape = session.state.shape
        many = shape.rows * shape.slots > self.form.crowd
        return many and still is not None and _rows(still) <= shape.rows // 2

    def move(
        self,
        session: Session,
        rows: Int[Tensor, " rows"],
        position: int,
        settings: DecodeSettings,
    ) -> tuple[Session, Int[Tensor, " kept"]]:
        """The open rows alone, in a session that has the room they need."""
        old = session.state.shape
        still = session.state.is_open[: len(rows)].nonzero().squeeze(1)
        positions = old.positions * (1 if position < old.positions else self.form.growth)
        shape = Shape(_rows(max(1, len(still))), old.slots, positions, old.sources)
        if shape == old:
            return session, rows
        after = self.session(shape)
        after.state.rule(self.weights, settings)
        after.state.take(session.state, still, position)
        return after, rows[still]

    def session(self, shape: Shape) -> Session:
        """The session of this shape, made when it is first asked for."""
        session = self.sessions.pop(shape, None)
        if session is None:
            self._make_room()
            session = Session(self.weights, shape, operations_for(self.weights, shape))
        self.sessions[shape] = session
        return session

    def _places(self, wanted: int) -> int:
        """Room for the positions of a source: in few sizes, so that few shapes serve all."""
        room = self.form.positions
        while room < wanted:
            room *= self.form.growth
        return room

    def _make_room(self) -> None:
        """Forget the sessions that were used longest ago, all but the newest."""
        device = self.weights.table.device
        whole = torch.cuda.mem_get_info(device)[1] if device.type == "cuda" else 2**31
        most = whole * self.form.keep
        while len(self.sessions) > 1 and sum(s.state.bytes for s in self.sessions.values()) > most:
            self.sessions.popitem(last=False)


@final
class Look:
    """How many rows are open, asked without waiting: the answer is one step old, and the GPU never idle."""

    def __init__(self, is_open: Tensor) -> None:
        self.is_open = is_open
        self.is_cuda = is_open.is_cuda
        self.answers = [torch.zeros(len(is_open), dtype=torch.bool) for _ in range(2)]
        if self.is_cuda:
            self.answers = [answer.pin_memory() for answer in self.answers]
            self.done = [torch.cuda.Event() for _ in range(2)]
        self.asked = 0

    def ask(self) -> int | None:
        """Ask again, and read the last answer; None when there is none yet."""
        turn = self.asked % 2
        self.asked += 1
        self.answers[turn].copy_(self.is_open, non_blocking=True)
        if not self.is_cuda:
            return int(self.answers[turn].sum())
        self.done[turn].record()
        if self.asked == 1:
            return None
        self.done[1 - turn].synchronize()
        return int(self.answers[1 - turn].sum())


def operations_for(weights: Weights, shape: Shape) -> Operations:
    """The kernels where there are some, the formulas elsewhere."""
    if weights.table.is_cuda and weights.dtype != torch.float64:
        try:
            from regard.accelerate.triton.decode_launch import Narrow, Wide
        except ImportError:  # a torch without Triton
            return Plain()
        return Narrow() if shape.rows * shape.slots <= Narrow.most else Wide()
    return Plain()


def _precision(decoder: TransformerDecoder, device: torch.device) -> torch.dtype:
    if torch.is_autocast_enabled(device.type):
        return torch.get_autocast_dtype(device.type)
    return decoder.embedding.table.weight.dtype


def _shapes(now: Written) -> list[torch.Size]:
    return [shape for _, _, shape in now]


def _has_places(decoder: Decoder[Any], length: int) -> bool:
    """Past the end of learned positions the generic search says what is wrong."""
    assert isinstance(decoder, TransformerDecoder)
    position = decoder.embedding.position
    return not isinstance(position, Learned) or length <= len(position.weight)


def _rows(count: int) -> int:
    """The next power of two, or three quarters of it, so that few shapes serve all batches."""
    whole = 1 << (count - 1).bit_length()
    return whole * 3 // 4 if whole >= 32 and count <= whole * 3 // 4 else whole


# One shape of search, ready to run: its state, and the step recorded as a CUDA graph once that pays.

WARM = 3  # steps taken as they come, so that every kernel is built before the step is recorded


@final
class Session:
    """Takes steps in a state of one shape. A short search never pays for a recording."""

    def __init__(self, weights: Weights, shape: Shape, operations: Operations) -> None:
        self.weights, self.operations = weights, operations
        self.state = State.room(weights, shape)
        self.recording: torch.cuda.CUDAGraph | None = None
        self.taken = 0

    def step(self) -> None:
        """One symbol for every row; nothing waits for it to be done."""
        if self.recording is not None:
            self.recording.replay()
            return
        if self.taken >= WARM and self.state.totals.is_cuda:
            self._record()
            self.step()
            return
        step(self.weights, self.state, self.operations)
        self.taken += 1

    def stretch(self, rows: Int[Tensor, " rows"], first: int, last: int) -> Stretch:
        """What steps first .. last - 1 decided for these rows of the batch, which lie in front."""
        state = self.state
        columns = (state.parents, state.chosen, state.reached, state.added, state.fate)
        return Stretch(rows, *(column[first:last, : len(rows)].clone() for column in columns))

    def _record(self) -> None:
        """Record the step without running it."""
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        recording = torch.cuda.CUDAGraph()
        with torch.cuda.stream(stream):
            recording.capture_begin(capture_error_mode="thread_local")
            try:
                step(self.weights, self.state, self.operations)
            finally:
                recording.capture_end()
        torch.cuda.current_stream().wait_stream(stream)
        self.recording = recording
