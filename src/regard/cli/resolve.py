"""From what was typed to one value of settings: preset, then file, then data, then --set."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard.config import merge, overlay, parse, read_toml
from regard.errors import UsageError
from regard.presets import DEFAULT_OF, preset

if TYPE_CHECKING:
    from regard.run.settings import RunSettings


def resolve(
    *,
    name: str | None = None,
    config: Path | None = None,
    toy: str | None = None,
    train: Sequence[Path] = (),
    valid: Sequence[Path] = (),
    task: str | None = None,
    changes: Sequence[str] = (),
) -> RunSettings:
    """Each layer overrules the one before; what nobody says is the default of the settings themselves."""
    from regard.run.settings import RunSettings

    given = {} if config is None else read_toml(config)
    data = _data(toy, train, valid)
    tree = merge(given, {"data": data} if data else {})
    if task is not None:
        tree["task"] = task
    tree = overlay(tree, changes)
    if name is None and "model" not in tree:
        name = DEFAULT_OF[_task(tree)]
    if name is not None:
        tree = _over_preset(preset(name), tree)
    _suit_toy(tree)
    return parse(RunSettings, tree, where=str(config or f"preset {name}"))


def _data(toy: str | None, train: Sequence[Path], valid: Sequence[Path]) -> dict[str, Any]:
    if toy is not None and train:
        raise UsageError("a run learns from a toy or from files, not both", where="--toy")
    if toy is not None:
        return {"toy": toy}
    data: dict[str, Any] = {}
    if train:
        data["train"] = [str(path.resolve()) for path in train]
    if valid:
        data["valid"] = [str(path.resolve()) for path in valid]
    return data


def _task(tree: dict[str, Any]) -> str:
    """What the data teaches, when nobody said."""
    from regard.run.corpus import Corpus
    from regard.run.settings import DataSettings

    if "task" not in tree:
        settings = parse(DataSettings, tree.get("data", {}), where="data")
        tree["task"] = Corpus.of(settings).task
    if tree["task"] not in DEFAULT_OF:
        raise UsageError(
            f"no task '{tree['task']}'", where="task", remedy=f"choose {', '.join(DEFAULT_OF)}"
        )
    return str(tree["task"])


def _over_preset(base: dict[str, Any], tree: dict[str, Any]) -> dict[str, Any]:
    """A preset's toy is for those who brought nothing."""
    if tree.get("data", {}).get("train") or tree.get("data", {}).get("toy"):
        base = {key: value for key, value in base.items() if key != "data"}
    return merge(base, tree)


def _suit_toy(tree: dict[str, Any]) -> None:
    """A toy's symbols are words or letters, unless somebody wants them cut otherwise."""
    from regard.data.toys import toy

    name = tree.get("data", {}).get("toy")
    if name is not None:
        tree["text"] = {"kind": toy(name).unit, **tree.get("text", {})}
        tree["task"] = toy(name).task
