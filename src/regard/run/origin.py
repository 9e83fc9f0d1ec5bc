"""What a run was begun with, which must still be so when it goes on (T5): settings, data, another model.

Settings that touch how long and how often may change; others only when a person names them, or
while nothing is trained yet; and what the vocabulary and the prepared data were made by cannot
change at all. A model that the run starts from is copied, vocabulary and weights, and needed no
more.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from regard.config import Settings, parse, read_toml, to_toml
from regard.errors import ResumeError, UsageError, nearest
from regard.run import files, weights
from regard.run.find import folder_of, read_bounded, read_settings
from regard.run.load import LONGEST_TASK, outline, read_task
from regard.run.settings import HARMLESS, RunSettings
from regard.settings.architecture import encoder_of

FIXED = ("task", "start", "text", "data.toy", "data.examples", "data.vectors", "data.on_bad_utf8")
ENCODER = "encoder."  # how the names of an encoder's weights begin
MOST_SHOWN = 20  # changes told at once
SHOWN = 12  # characters of a hash that tell it from another


def begin_or_go_on(
    folder: Path, settings: RunSettings, fingerprint: str, allow: Collection[str] = ()
) -> None:
    """Write down the settings of a new run; of an old one, refuse what would change what it is."""
    config, source = folder / "config.toml", folder / "data" / "fingerprint"
    if not config.is_file():
        _refuse_a_model_without_settings(folder)
        files.make_folder(source.parent)
        files.write_atomic(source, fingerprint.encode())
    else:
        before = parse(RunSettings, read_toml(config), where=str(config))
        _refuse_changes(before, settings, allow, config)
        _refuse_other_data(source, fingerprint)
    files.write_atomic(config, to_toml(settings).encode())


def differences(before: RunSettings, after: RunSettings) -> Iterator[tuple[str, str]]:
    """(`train.rate`, `0.001 -> 0.002`) for every setting that is not harmless."""
    old, new = _flat(before.model_dump(mode="json")), _flat(after.model_dump(mode="json"))
    for key in sorted(old.keys() | new.keys()):
        if old.get(key) != new.get(key) and not _within(key, HARMLESS):
            yield key, f"{old.get(key)} -> {new.get(key)}"


def refuse_other(before: Mapping[str, str], now: Mapping[str, str], where: Path) -> None:
    """A checkpoint belongs to one vocabulary and one prepared corpus, known by their hashes."""
    changed = [
        f"{name} {old[:SHOWN]} -> {now[name][:SHOWN]}"
        for name, old in before.items()
        if old != now[name]
    ]
    if changed:
        raise ResumeError(
            "the checkpoints were made from other files: " + "; ".join(changed),
            where=str(where),
            remedy="put the former files back, or train in another folder",
        )


def _is_trained(folder: Path) -> bool:
    return any(folder.glob("*.safetensors")) or any(folder.glob("checkpoints/step-*"))


def _refuse_a_model_without_settings(folder: Path) -> None:
    if any(folder.glob("*.safetensors")) or (folder / "checkpoints").exists():
        raise UsageError(
            "this folder holds a model but no settings", where=str(folder), remedy="choose another"
        )


def _refuse_changes(
    before: RunSettings, after: RunSettings, allow: Collection[str], config: Path
) -> None:
    known = {key for one in (before, after) for key in _flat(one.model_dump(mode="json"))}
    for key in allow:
        if not any(_within(one, [key]) for one in known):
            raise UsageError(
                f"no setting '{key}'", where="--allow-change", remedy=nearest(key, known)
            )
        if _within(key, FIXED) or any(_within(fixed, [key]) for fixed in FIXED):
            raise UsageError(
                f"'{key}' cannot change: the vocabulary and the prepared data were made by it",
                where="--allow-change",
                remedy="train in another folder",
            )
    changed = {
        key: how
        for key, how in differences(before, after)
        if not _within(key, allow) and (_is_trained(config.parent) or _within(key, FIXED))
    }
    if changed:
        raise ResumeError(
            "this run was begun with other settings: " + _told(changed),
            where=str(config),
            remedy="train in another folder, leave the settings out to go on with the old ones, or type "
            "`regard train --allow-change KEY`",
        )


def _told(changed: Mapping[str, str]) -> str:
    """Changes for a person: where the kind of a group is another, the rest of it follows from that."""
    other = [key.removesuffix(".kind") for key in changed if key.endswith(".kind")]
    shown = [
        f"{key}: {how}"
        for key, how in changed.items()
        if key.endswith(".kind") or not _within(key, other)
    ]
    more = len(shown) - MOST_SHOWN
    return "; ".join(shown[:MOST_SHOWN]) + (f"; and {more} more" if more > 0 else "")


def _refuse_other_data(source: Path, fingerprint: str) -> None:
    before = source.read_text("utf-8") if source.is_file() else fingerprint
    if before != fingerprint:
        raise ResumeError(
            f"the data changed since this run began: {before[:SHOWN]} -> {fingerprint[:SHOWN]}",
            where=str(source),
            remedy="put the former files back, or train in another folder",
        )


def _within(key: str, groups: Collection[str]) -> bool:
    """Whether a setting is one of these, or in one of these groups."""
    return any(key == name or key.startswith(f"{name}.") for name in groups)


def _flat(tree: Mapping[str, Any], path: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in tree.items():
        if isinstance(value, dict):
            flat |= _flat(value, f"{path}{key}.")
        else:
            flat[f"{path}{key}"] = value
    return flat


def start_weights(folder: Path) -> Path:
    """The weights that a run in this folder starts from."""
    return folder / "data" / "start.safetensors"


def start_vocabulary(folder: Path) -> Path:
    """The vocabulary that a run in this folder starts from, where it is of another task."""
    return folder / "data" / "start.json"


def fetch_start(folder: Path, settings: RunSettings) -> None:
    """Copy what the run starts from, once. A model that does not fit is refused before any text is read."""
    tokenizer = folder / "tokenizer.json"
    if settings.start is None or tokenizer.is_file() or start_vocabulary(folder).is_file():
        return
    with folder_of(Path(settings.start)) as origin:
        earlier = read_settings(origin / "config.toml")
        _refuse_other_text(settings, earlier)
        if earlier.task != settings.task:
            _fetch_encoder(folder, origin, settings, earlier)
            return
        task = read_task(origin / "tokenizer.json", settings.task)
        _, stored = outline(origin / "model.safetensors", settings.model, task.sizes)
        files.make_folder(start_weights(folder).parent)
        weights.write(start_weights(folder), stored)
        # Last, for where it lies nothing is copied again.
        files.write_atomic(
            tokenizer, read_bounded(origin / "tokenizer.json", "tokenizer", LONGEST_TASK)
        )


def _fetch_encoder(folder: Path, origin: Path, settings: RunSettings, earlier: RunSettings) -> None:
    """Of a model for another task: its encoder, and the vocabulary that its weights belong to."""
    reads = encoder_of(earlier.model)
    if _shape(settings.model.encoder) != _shape(reads):
        raise UsageError(
            f"{settings.start} has another encoder than these settings describe",
            where="model.encoder",
            remedy="leave the settings of `model.encoder` out, or start from nothing",
        )
    task = read_task(origin / "tokenizer.json", earlier.task)
    documents = task.to_dict()
    pieces = documents.get("source", documents.get("shared"))
    if earlier.model.encoder is None:  # a language model, whose blocks become an encoder
        pieces = documents.get("target")
    if pieces is None:
        raise UsageError(
            f"{settings.start} reads no text that another task could read",
            where="start",
            remedy="start from a model that reads text, or from nothing",
        )
    _, stored = outline(origin / "model.safetensors", earlier.model, task.sizes)
    if earlier.model.encoder is None:
        stored = {_as_encoder(name): value for name, value in stored.items()}
    kept = {name: value for name, value in stored.items() if name.startswith(ENCODER)}
    files.make_folder(start_weights(folder).parent)
    weights.write(start_weights(folder), kept)
    # Last, for where it lies nothing is copied again.
    files.write_atomic(start_vocabulary(folder), pieces.encode())


def _as_encoder(name: str) -> str:
    """Where a weight of a language model lies in the encoder that its blocks become."""
    parts = ("reader.embedding.", "reader.blocks.", "reader.norm.")
    return ENCODER + name.removeprefix("reader.") if name.startswith(parts) else name


def _shape(encoder: Settings | None) -> dict[str, Any]:
    """What decides the shapes of an encoder's weights; dropout does not, and gates may be new.

    Nor does whether it looks ahead: what has read from left to right may go on to read both ways.
    """
    if encoder is None:
        return {}
    tree = encoder.model_dump(exclude={"dropout", "gates"})
    return {**tree, "reach": "full"} if tree.get("reach") == "causal" else tree


def _refuse_other_text(settings: RunSettings, earlier: RunSettings) -> None:
    if settings.text != earlier.text:
        raise UsageError(
            f"{settings.start} cuts text in its own way, which its weights belong to",
            where="text",
            remedy="leave the settings of `text` out, or start from nothing",
        )
