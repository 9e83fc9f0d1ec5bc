"""The runs a studio may show: loaded when first asked for, never let go by accident.

A folder can be deleted or broken while its model answers. Then the model in memory answers on, and readiness
says what happened on disk.
"""

from __future__ import annotations

import json
import math
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

from regard import box
from regard.box.card import Card
from regard.box.card import read as read_card
from regard.errors import ModelFileError, RegardError, nearest
from regard.run.find import is_brought
from regard.studio.brought import described, opened
from regard.studio.live import first_line, read_lines
from regard.studio.refusal import Refusal
from regard.studio.work_queue import go_on
from regard.text.keep import languages, tag
from regard.text.languages import NAMES

if TYPE_CHECKING:
    from regard.answer.predictor import Predictor
    from regard.interop.bring import Brought
    from regard.run.settings import RunSettings


Stamp = tuple[int, int, int]  # what changes when a file is written anew


@final
class Shelf:
    """Runs by name. `predictor` is called by the one thread that works with models, all else by any.

    `coming` names a run whose training has begun and whose folder may still be empty.
    """

    def __init__(
        self,
        folders: Iterable[Path],
        most: int,
        device: str = "auto",
        coming: Callable[[], str | None] = lambda: None,
        *,
        is_own: bool = False,
    ) -> None:
        self._is_own = is_own  # whether nobody but this machine can ask
        self._folders: dict[str, Path] = {}
        self._most, self._device, self._coming = most, device, coming
        self._loaded: OrderedDict[str, tuple[Stamp | None, Predictor]] = OrderedDict()
        self._brought: dict[str, tuple[Stamp | None, Brought]] = {}
        self._told: dict[str, tuple[Any, dict[str, Any]]] = {}
        self._troubles: dict[str, str] = {}
        self._guard = threading.Lock()
        self.add(folders)

    @property
    def folders(self) -> dict[str, Path]:
        """All folders by the names of their runs, those that are gone included."""
        with self._guard:
            return dict(self._folders)

    def add(self, folders: Iterable[Path]) -> None:
        """Runs that were made meanwhile, behind those known already; a name once given stays.

        Each has the name of its folder; of two alike, the second is numbered.
        """
        with self._guard:
            known = {folder.resolve() for folder in self._folders.values()}
            for folder in folders:
                place = folder.resolve()
                if place in known:
                    continue
                known.add(place)
                name = stem = place.name or "run"
                number = 2
                while name in self._folders:
                    name, number = f"{stem}-{number}", number + 1
                self._folders[name] = folder

    def name_of(self, folder: Path) -> str:
        """The name of a run that was added."""
        place = folder.resolve()
        return next(name for name, own in self.folders.items() if own.resolve() == place)

    @property
    def names(self) -> tuple[str, ...]:
        """All runs that have a folder with settings in it or a model in memory, or that begin to train."""
        return tuple(name for name in self.folders if self._is_there(name))

    def folder(self, name: str) -> Path:
        """Where a run lies; only names of the list can be asked for."""
        if name not in self._folders or not self._is_there(name):
            known = self.names
            remedy = nearest(name, known) if known else "start with a run: regard studio RUN"
            raise Refusal(404, "there is no run of this name", "run", remedy)
        return self._folders[name]

    def loaded(self, name: str) -> Predictor | None:
        """The model in memory, if it is that of the folder as it is now, or all that is left of it."""
        folder = self.folder(name)
        with self._guard:
            stamp, predictor = self._loaded.get(name, (None, None))
        return predictor if stamp == _stamp(folder / "model.safetensors") else None

    def stamp(self, name: str) -> Stamp | None:
        """What changes when the run has another model."""
        return _stamp(self.folder(name) / "model.safetensors")

    def predictor(self, name: str) -> Predictor:
        """The model of a run: a newer one when its folder has one, else the one that served so far."""
        from regard.answer.predictor import Predictor

        folder = self.folder(name)
        now = _stamp(folder / "model.safetensors")
        with self._guard:
            before = self._loaded.get(name)
            if before is not None:
                self._loaded.move_to_end(name)
        if before is not None and before[0] == now:
            return before[1]
        try:
            fresh = Predictor.load(folder, self._device, note=_ignore, looking=True)
        except (RegardError, OSError) as fault:
            self._troubles[name] = fault.what if isinstance(fault, RegardError) else "unreadable"
            if before is None:
                raise _model_fault(fault) from None
            return before[1]
        _let_stop(fresh)
        self._troubles.pop(name, None)
        with self._guard:
            self._loaded[name] = (now, fresh)
            while len(self._loaded) > self._most:
                self._loaded.popitem(last=False)
        return fresh

    def is_brought(self, name: str) -> bool:
        """Whether it is a folder of Hugging Face's, which is looked into as it is."""
        return is_brought(self.folder(name))

    def brought(self, name: str) -> Brought:
        """Its model and tokenizer; one such model is kept at a time."""
        now = _stamp(self.folder(name) / "config.json")
        known = self._brought.get(name)
        if known is None or known[0] != now:
            self._brought.clear()
            known = self._brought[name] = (now, opened(self.folder(name)))
        return known[1]

    def troubles(self) -> dict[str, str]:
        """What is wrong with which run, on disk, as it is now."""
        troubles = dict(self._troubles)
        with self._guard:
            served = list(self._loaded)
        for name in served:
            if _stamp(self._folders[name] / "model.safetensors") is None:
                troubles[name] = "its folder has no model any more; the one in memory answers"
        return troubles

    def is_coming(self, name: str) -> bool:
        """Whether its training has begun, and its settings are not yet written."""
        folder = self.folder(name)
        return name == self._coming() and not (folder / "config.toml").is_file()

    def settings(self, name: str) -> RunSettings:
        """The settings of a run, as its folder has them."""
        from regard.run.find import read_settings

        return read_settings(self.folder(name) / "config.toml")

    def records(self, name: str, kind: str) -> list[dict[str, Any]]:
        """The lines of metrics.jsonl or samples.jsonl; a line that is no JSON object is passed over."""
        return read_lines(self.folder(name) / f"{kind}.jsonl")

    def about(self, name: str) -> dict[str, Any]:
        """A run in a few words: task, size, what it is made of, how good it is, whether it trains now."""
        folder = self.folder(name)
        files = ("model.safetensors", "metrics.jsonl", "config.toml", "config.json")
        state = tuple(_stamp(folder / file) for file in files)
        known = self._told.get(name)
        if known is None or known[0] != state:
            known = (state, self._describe(name))
            self._told[name] = known
        ready = state[0] is not None or name in self._loaded or is_brought(folder)
        live = is_live(folder) or name == self._coming()
        return {"name": name, **known[1], "live": live, "ready": ready}

    def _is_there(self, name: str) -> bool:
        has_settings = (self._folders[name] / "config.toml").is_file()
        has_settings = has_settings or is_brought(self._folders[name])
        return has_settings or name in self._loaded or name == self._coming()

    def _describe(self, name: str) -> dict[str, Any]:
        if is_brought(folder := self._folders[name]):
            size = _parameters(folder / "model.safetensors")
            place = _place(name, folder, self._is_own)
            return {**described(folder), "parameters": size, "place": place}
        try:
            settings = self.settings(name)
        except (RegardError, OSError):
            coming = self.is_coming(name)
            summary = "being prepared" if coming else "its settings cannot be read"
            unread = {"task": "", "parameters": 0, "summary": summary}
            return {**unread, "place": _place(name, self._folders[name], self._is_own)}
        known = languages(settings.text.symbols)
        about: dict[str, Any] = {
            "task": settings.task,
            "parameters": _parameters(self.folder(name) / "model.safetensors"),
            "summary": _summary(settings),
            "languages": {code: NAMES.get(code, code) for code in known},
            "example": self._sample(name, known),
            "pieces": settings.text.kind,
            "learned": settings.data.toy
            or ", ".join(Path(path).name for path in settings.data.train),
            "place": _place(name, self._folders[name], self._is_own),
        }
        card = self._card(name)
        if card is not None:
            about |= {
                "summary": card.title,
                "parameters": card.parameters,
                "example": card.question(self.folder(name)),
                "directions": list(card.directions),
            }
        scores = _best(self.records(name, "metrics")) if card is None else _told(card)
        return {**about, "scores": scores}

    def _sample(self, name: str, known: Iterable[str]) -> str:
        """The first sentence that its evaluations look at, or that it kept, without the tag of a language."""
        kept = ("samples.jsonl", "data/probes.jsonl")
        some = (first_line(self.folder(name) / one).get("question", "") for one in kept)
        question = next(filter(None, some), "")
        text = question if isinstance(question, str) else ""
        for code in known:
            text = text.removeprefix(tag(code)).lstrip()
        return text

    def _card(self, name: str) -> Card | None:
        """What a model that came in the box says of itself."""
        try:
            return read_card(self.folder(name))
        except RegardError:
            return None


def is_live(folder: Path) -> bool:
    """Whether somebody trains in this folder now."""
    from regard.run.lock import NAME, Holder

    try:
        with (folder / NAME).open("rb") as file:
            content = json.loads(file.read(4096))
        return not Holder(**content).gone()
    except (OSError, ValueError, TypeError, RecursionError):
        return False


def _place(name: str, folder: Path, is_own: bool) -> str:
    """What loads it where the studio was started; a folder elsewhere is told on this machine alone."""
    if folder.parent == box.PLACE:
        return folder.name
    whole, here = folder.resolve(), Path.cwd()
    if whole.is_relative_to(here):
        return whole.relative_to(here).as_posix()
    return whole.as_posix() if is_own else f"runs/{name}"


def _stamp(path: Path) -> Stamp | None:
    try:
        about = path.stat()
    except OSError:
        return None
    return about.st_mtime_ns, about.st_size, about.st_ino


def _let_stop(predictor: Predictor) -> None:
    """Before each module and each step of a search, work that nobody waits for ends.

    The form that answers takes its steps without calling modules, so that its steps themselves ask.
    """
    answering = predictor.forms.answering()
    for module in {*predictor.model.modules(), *answering.modules()}:
        module.register_forward_pre_hook(lambda _module, _given: go_on())
    if predictor.run.task.searches:
        decoder, step = answering.decoder, answering.decoder.step

        def asking(*given: Any) -> Any:
            go_on()
            return step(*given)

        decoder.step = asking  # type: ignore[method-assign, assignment]


def _model_fault(fault: RegardError | OSError) -> RegardError:
    return (
        fault
        if isinstance(fault, RegardError)
        else ModelFileError(
            "the model cannot be read",
            where="model",
            remedy="look at its folder and permissions: `regard doctor`",
        )
    )


def _parameters(path: Path) -> int:
    from regard.run import weights

    try:
        entries = weights.read_header(path).entries
    except (RegardError, OSError):
        return 0
    return sum(math.prod(entry.shape) for entry in entries)


def _summary(settings: RunSettings) -> str:
    model = settings.model
    parts = [f"{model.encoder.kind} encoder"] if model.encoder else []
    parts.append(f"{model.reader.kind} reader")
    score = getattr(model.reader, "score", None)
    if score:
        parts.append("no attention" if score == "none" else f"{score} attention")
    if settings.data.toy:
        parts.append(f"trained on {settings.data.toy}")
    return ", ".join(parts)


def _best(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The deciding metric of the best evaluation so far."""
    judged = [entry for entry in entries if entry.get("kind") == "valid" and entry.get("metrics")]
    best = [entry for entry in judged if entry.get("is_best")] or judged
    if not best:
        return []
    metric = best[-1]["metrics"][0]
    score = {"name": str(metric.get("name")), "value": metric.get("value")}
    return [{**score, "test": "held out", "direction": ""}]


def _told(card: Card) -> list[dict[str, Any]]:
    """The scores that `regard models` prints, one for each direction."""
    return [
        {"name": one.metric, "value": one.value, "test": one.test, "direction": one.direction}
        for one in card.foremost()
    ]


def _ignore(_message: str) -> None:
    """What was done otherwise than asked is not for a server's log: it may speak of the text."""
