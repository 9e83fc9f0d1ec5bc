"""From what a person says to one value of settings: preset, then file, then data, then single changes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, product
from pathlib import Path
from typing import Any, final

from regard.config import merge, overlay, parse, read_toml
from regard.data.example import Kind
from regard.data.toys import toy as toy_named
from regard.errors import UsageError
from regard.presets import DEFAULT_OF, FEW_EXAMPLES, default_for, preset, with_encoders
from regard.run.corpus import Corpus
from regard.run.find import folder_of, read_settings
from regard.run.settings import DataSettings, RunSettings
from regard.settings.architecture import ModelSettings, encoder_of
from regard.tasks.names import example_of, task_for

# A model that is trained already needs small steps, and few.
GENTLE = {"steps": 1000, "rate": 2e-4, "schedule": "cosine", "warmup": 100}


def resolve(
    *,
    name: str | None = None,
    config: Path | None = None,
    start: str | None = None,
    toy: str | None = None,
    train: Sequence[Path] = (),
    valid: Sequence[Path] = (),
    task: str | None = None,
    changes: Sequence[str] = (),
    more: Mapping[str, Any] | None = None,
) -> RunSettings:
    """Each layer overrules the one before; what nobody says is the default of the settings themselves.

    With `start` the lowest layer is what that model is, and small steps; a preset would be another model. For
    another task only its text and its encoder are kept, above the default model of that task.
    `changes` are single settings as text (`train.steps=500`), `more` a tree of them.
    """
    given = {} if config is None else read_toml(config)
    if start is not None:
        if name is not None:
            where = f'preset="{name}" with start_from="{start}"'
            raise UsageError("a preset is a model of its own", where, "leave out one of them")
        taught = None if toy is None else toy_named(toy).kind
        given = merge(_started(start, task or given.get("task"), taught), given)
    tree = _with_data(given, toy, train, valid)
    if task is not None and toy is not None and example_of(task) is not toy_named(toy).kind:
        what = f"the toy {toy} teaches the task {task_for(toy_named(toy).kind)}, not {task}"
        raise UsageError(what, f'task="{task}"', "leave the task out, or take another toy")
    if task is not None:
        tree["task"] = task
    tree = merge(tree, more or {})
    # A single change is one to the usual model, and makes none by itself.
    is_whole = _has_model(tree)
    tree = overlay(tree, changes)
    if name is None and not is_whole:
        task = _task(tree)
        name = usual_preset(task, parse(DataSettings, tree.get("data", {}), where="data"))
    if name is not None:
        tree = _over_preset(preset(name), tree)
    _suit_toy(tree)
    if name is not None:
        tree = _suit_sources(tree)
    return parse(RunSettings, tree, str(config or f"preset {name}"), changes)


def place(
    files: Sequence[Path],
    out: Path | None,
    *,
    name: str | None = None,
    config: Path | None = None,
    start: str | None = None,
    toy: str | None = None,
    valid: Sequence[Path] = (),
    task: str | None = None,
    changes: Sequence[str] = (),
    more: Mapping[str, Any] | None = None,
) -> tuple[Path, RunSettings]:
    """A run's folder and settings: an earlier run keeps its own, a new one is named after its data."""
    earlier = files[0] if len(files) == 1 and (files[0] / "config.toml").is_file() else None
    plain = not (files or name or config or toy or start)
    if earlier is None and plain and out is not None and (out / "config.toml").is_file():
        earlier = out
    if earlier is not None:
        _refuse_new(earlier, out=out, preset=name, config=config, start_from=start, toy=toy,
                    valid=valid, task=task)  # fmt: skip
        tree = overlay(merge(read_toml(earlier / "config.toml"), more or {}), changes)
        return earlier, parse(RunSettings, tree, str(earlier / "config.toml"), changes)
    settings = resolve(
        name=name,
        config=config,
        start=start,
        toy=toy,
        train=files,
        valid=valid,
        task=task,
        changes=changes,
        more=more,
    )
    learned = settings.data.toy or next((Path(p).stem for p in settings.data.train), "nothing")
    kind = name or (config.stem if config else Path(start).stem if start else settings.task)
    return out or Path("runs") / f"{learned.split('.')[0]}-{kind}", settings


def _refuse_new(earlier: Path, **given: Any) -> None:
    """What a run has its own of cannot be given anew: it would be ignored."""
    for name, value in given.items():
        if value and value != earlier:
            shown = value if isinstance(value, str) else str(value[0] if name == "valid" else value)
            raise UsageError(
                f"{earlier} is a run already, and continues with its own settings and data",
                where=f'{name}="{shown}"',
                remedy="leave this out, or name the data again, and another folder: "
                "regard train train.en train.de --out runs/other",
            )


def _started(start: str, task: str | None, taught: Kind | None) -> dict[str, Any]:
    """What a model is: its task, text and parts, and how it answers. How it was trained is its own affair."""
    with folder_of(Path(start)) as folder:
        earlier = read_settings(folder / "config.toml").model_dump(mode="json")
    if task is None and taught is not None and example_of(earlier["task"]) is not taught:
        task = task_for(taught)
    place = Path(start)
    origin = {"start": str(place.resolve()) if place.exists() else start}
    if task is not None and task != earlier["task"]:
        encoder = encoder_of(parse(ModelSettings, earlier["model"], where=start))
        if encoder is None:
            raise UsageError(
                f"{start} has no encoder that a model for another task could start with",
                where=f'start_from="{start}"',
                remedy=f"start the task {task} from a model that reads a source, or from nothing",
            )
        own = {"encoder": encoder.model_dump(mode="json")}
        return {"task": task, "text": earlier["text"], "model": own, **origin}
    kept = {key: earlier[key] for key in ("task", "text", "model", "decode")}
    return {**kept, **origin, "train": GENTLE}


def _with_data(
    given: dict[str, Any], toy: str | None, train: Sequence[Path], valid: Sequence[Path]
) -> dict[str, Any]:
    """The settings of a file with the data named here: files stand for its toy, and a toy for its files."""
    data, own = _data(toy, train, valid), given.get("data")
    if isinstance(own, dict):
        replaced = ("toy",) if train else ("train", "valid", "test") if toy is not None else ()
        kept = {key: value for key, value in own.items() if key not in replaced}
        given = {**given, "data": kept}
    return merge(given, {"data": data} if data else {})


def _data(toy: str | None, train: Sequence[Path], valid: Sequence[Path]) -> dict[str, Any]:
    if toy is not None and train:
        what = "a run learns from a toy or from files, not both"
        raise UsageError(what, f'toy="{toy}"', "leave out one of them")
    if toy is not None:
        if valid:
            what = "a toy has validation examples of its own"
            raise UsageError(what, f'valid="{valid[0]}"', "leave this out, or the toy")
        return {"toy": toy}
    data: dict[str, Any] = {}
    if train:
        data["train"] = [str(path.resolve()) for path in train]
    if valid:
        data["valid"] = [str(path.resolve()) for path in valid]
    return data


def _task(tree: dict[str, Any]) -> str:
    """What the data teaches, when nobody said."""
    if "task" not in tree:
        settings = parse(DataSettings, tree.get("data", {}), where="data")
        tree["task"] = Corpus.of(settings).task
    if tree["task"] not in DEFAULT_OF:
        raise UsageError(
            f"no task '{tree['task']}'", where="task", remedy=f"choose {', '.join(DEFAULT_OF)}"
        )
    return str(tree["task"])


def usual_preset(task: str, data: DataSettings) -> str:
    """What is taken when no preset is named: by the task, and by how much there is to learn from.

    Examples are counted until they are many; a toy is small.
    """
    count = 0
    if data.toy is None and data.train:
        examples = Corpus.of(data, task).examples("train")
        count = sum(1 for _ in islice(examples, FEW_EXAMPLES + 1))
    return default_for(task, count)


def _has_model(tree: Mapping[str, Any]) -> bool:
    """Whether a whole model is described, or only changes to one."""
    model = tree.get("model", {})
    reader = model.get("reader", {}) if isinstance(model, Mapping) else {}
    return isinstance(reader, Mapping) and "kind" in reader


def _over_preset(base: dict[str, Any], tree: dict[str, Any]) -> dict[str, Any]:
    """A preset's toy is for those who brought nothing."""
    if tree.get("data", {}).get("train") or tree.get("data", {}).get("toy"):
        base = {key: value for key, value in base.items() if key != "data"}
    return merge(base, tree)


def _suit_sources(tree: dict[str, Any]) -> dict[str, Any]:
    """A preset has encoders for the pictures and sounds of data whose sources have names."""
    kind = example_of(tree.get("task"))
    data = parse(DataSettings, tree.get("data", {}), where="data")
    if kind is None or not kind.several or not (data.train or data.toy):
        return tree
    return with_encoders(tree, Corpus.of(data, tree["task"]).media())


def _suit_toy(tree: dict[str, Any]) -> None:
    """A toy's symbols are words or letters, unless somebody wants them cut otherwise."""
    name = tree.get("data", {}).get("toy")
    if name is not None:
        tree["text"] = {"kind": toy_named(name).unit, **tree.get("text", {})}
        kind, task = toy_named(name).kind, tree.get("task")
        if task is None or example_of(task) is not kind:
            tree["task"] = task_for(kind)


# From `--vary reader.score=dot,additive` to settings: every combination, no two of them the same.

Resolve = Callable[[str | None, Sequence[str]], RunSettings]


@final
@dataclass(frozen=True)
class Variant:
    """One model of a comparison; its name is its folder's."""

    name: str
    settings: RunSettings


@final
@dataclass(frozen=True)
class Axis:
    """Settings that move together, and the values they take one after the other."""

    keys: tuple[str, ...]
    values: tuple[str, ...]

    @classmethod
    def parse(cls, text: str) -> Axis:
        """`a.b=1,2`, or `a.b,c.d=1,2` where both take the same value."""
        keys, equals, values = text.partition("=")
        axis = cls(tuple(key.strip() for key in keys.split(",")), _listed(values))
        if not equals or not all(axis.keys) or not all(axis.values):
            raise UsageError(
                f"'{text}' is nothing to vary",
                where=f'vary="{text}"',
                remedy="write it as model.reader.score=dot,additive",
            )
        return axis

    def changes(self, value: str) -> list[str]:
        """This value as changes of settings."""
        return [f"{key}={value}" for key in self.keys]


def variants(presets: Sequence[str], vary: Sequence[str], resolve: Resolve) -> list[Variant]:
    """Every preset with every combination of values; no two are the same."""
    axes = [Axis.parse(text) for text in vary]
    labels = _labels(axes)
    variants = []
    values_of_all = list(product(*(axis.values for axis in axes)))
    for base, values in product(presets or (None,), values_of_all):
        changes = [c for axis, value in zip(axes, values, strict=True) for c in axis.changes(value)]
        parts = [f"{label}-{value}" for label, value in zip(labels, values, strict=True)]
        if base is not None and (len(presets) > 1 or not parts):
            parts.insert(0, base)
        name = re.sub(r"[^\w.+-]+", "_", "-".join(parts) or "model").strip("_.")
        try:
            variant = Variant(name, resolve(base, changes))
        except UsageError as fault:
            raise _varied(fault, changes) from None
        variants.append(variant)
    _refuse_twins(variants)
    return variants


def _listed(text: str) -> tuple[str, ...]:
    """Values between commas, but not between those inside brackets."""
    return tuple(value.strip() for value in re.split(r",(?![^\[]*\])", text))


def _labels(axes: Sequence[Axis]) -> list[str]:
    """The last word of each setting; where two share it, the whole of it."""
    last = [axis.keys[0].rpartition(".")[2] for axis in axes]
    often = Counter(last)
    return [
        word if often[word] == 1 else axis.keys[0] for word, axis in zip(last, axes, strict=True)
    ]


def _varied(fault: UsageError, changes: Sequence[str]) -> UsageError:
    """A slip in a value to vary is told where it was made; every change was written as `--set` writes it."""
    change = fault.where.removeprefix("--set ")
    where = f'vary="{change}"' if change in changes else fault.where
    return UsageError(fault.what, where, fault.remedy)


def _refuse_twins(variants: Sequence[Variant]) -> None:
    names = Counter(variant.name for variant in variants)
    name, often = names.most_common(1)[0]
    if often > 1:
        raise UsageError(
            f"'{name}' is there {often} times",
            where="the presets, and what is varied",
            remedy="name each preset and each value once",
        )
    if len(variants) < 2:
        raise UsageError(
            "one model alone cannot be compared",
            where="the presets, and what is varied",
            remedy='name two presets, or vary a setting: vary="model.reader.score=dot,additive"',
        )
    for number, variant in enumerate(variants):
        for other in variants[:number]:
            if variant.settings == other.settings:
                raise UsageError(
                    f"{other.name} and {variant.name} have the same settings",
                    where="compare",
                    remedy="leave one of them out, or change a setting of it",
                )
