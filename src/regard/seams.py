"""Where something faster may stand in for a formula, and how to switch all of it off.

A seam is an ordered list of forms. Code that works by a formula first asks them in turn "do you take this
case?"; the first that does works the case out, equal to the formula by law, and the formula itself does the
rest. The forms live in `accelerate/`: a seam names its room there, and imports it when it is first asked
(at the latest; a module does when it is made), so that nothing has to be switched on, and nothing below
`accelerate/` imports it otherwise.

>>> with regard.reference():
...     model.translate("the black cat")  # every number by its formula, on any device
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from importlib import import_module
from threading import Lock
from typing import Any, Generic, TypeVar, final

Form = TypeVar("Form")
Forms = Sequence[Any]


@final
@dataclass(frozen=True)
class _Choice:
    """Forms by the name of their seam; `others` says whether the remaining seams keep their own."""

    forms: Mapping[str, tuple[Any, ...]]
    others: bool = True


_choice: ContextVar[_Choice | None] = ContextVar("choice", default=None)
_lock = Lock()
# How many `reference` and `using` blocks are open in all threads. Almost always none is; this number then
# says so at once, and in a way that a compiler can read, which it cannot do with a ContextVar.
_open = 0


@final
class Seam(Generic[Form]):
    """An ordered list of forms; `room` is the module of `accelerate/` whose `FORMS` they are."""

    def __init__(self, name: str, room: str) -> None:
        self.name, self.room = name, room
        self._own: tuple[Form, ...] | None = None

    def forms(self) -> tuple[Form, ...]:
        """The forms to ask, the first one first."""
        choice = _choice.get() if _open else None
        if choice is not None and self.name in choice.forms:
            return choice.forms[self.name]
        if choice is not None and not choice.others:
            return ()
        if self._own is None:
            self._own = tuple(import_module(f"regard.accelerate.{self.room}").FORMS)
        return self._own


@contextmanager
def reference() -> Iterator[None]:
    """Inside the `with`, every formula is worked out as it stands, on any device; nothing stands in for it.

    For those who doubt a number, and for tests that compare. It holds for this thread alone, and costs speed
    and memory: attention forms every score, and no training step is recorded.
    """
    with _chosen(_Choice({}, others=False)):
        yield


def is_reference() -> bool:
    """Whether this is inside `with reference()`."""
    choice = _choice.get()
    return choice is not None and not choice.others


@contextmanager
def using(
    *,
    attend: Forms | None = None,
    stack: Forms | None = None,
    loss: Forms | None = None,
    search: Forms | None = None,
    step: Forms | None = None,
) -> Iterator[None]:
    """Inside the `with`, the named seams have these forms and no others: `using(attend=[Fused()])`.

    It holds for this thread alone. Seams that are not named stay as they are.
    """
    given = {"attend": attend, "stack": stack, "loss": loss, "search": search, "step": step}
    named = {name: tuple(forms) for name, forms in given.items() if forms is not None}
    before = _choice.get() or _Choice({})
    with _chosen(_Choice({**before.forms, **named}, before.others)):
        yield


@contextmanager
def _chosen(choice: _Choice) -> Iterator[None]:
    global _open  # noqa: PLW0603
    token = _choice.set(choice)
    with _lock:
        _open += 1
    try:
        yield
    finally:
        with _lock:
            _open -= 1
        _choice.reset(token)
