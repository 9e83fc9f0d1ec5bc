"""Checkpoints that a kill at any instant cannot harm.

A checkpoint is a folder: tensors by group, a JSON state, and a manifest with the hash of each file. It is
written under a temporary name, made durable, and only then given its real one; older ones go after that.
Loading takes the newest by its number whose bytes are all as they were written.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

import torch
from torch import Tensor

from regard import strict_json
from regard.errors import DiskError, ModelFileError, UsageError
from regard.run import files, system, weights
from regard.run.files import Written

VERSION = 1
MANIFEST = "MANIFEST.json"
STATE = "state.json"
_LONGEST_MANIFEST = 1 << 16
_FOLDER = re.compile(r"step-([0-9]{1,18})(?:-([0-9]{1,9}))?")
_GROUP = re.compile(r"[a-z][a-z0-9_]{0,63}")
_EARLIER = "`regard train` goes on from the checkpoint before it"
_FILE = re.compile(rf"{re.escape(STATE)}|{_GROUP.pattern}\.safetensors")


@final
@dataclass(frozen=True)
class Checkpoint:
    """All that training needs to go on as if it had never stopped."""

    step: int
    folder: Path
    tensors: Mapping[str, Mapping[str, Tensor]]
    state: Mapping[str, Any]
    warnings: tuple[str, ...] = ()


@final
@dataclass(frozen=True, order=True)
class _Found:
    """A checkpoint's folder; a step saved again is a later attempt, so no name is ever used twice."""

    step: int
    attempt: int
    folder: Path


@final
@dataclass(frozen=True)
class _Content:
    """What a checkpoint will hold, worked out before the disk is touched."""

    step: int
    layouts: Mapping[str, weights.Layout]
    state: bytes

    @property
    def size(self) -> int:
        return len(self.state) + sum(layout.size for layout in self.layouts.values())


@final
class Checkpoints:
    """The checkpoints of one run; only the holder of the run's lock saves."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._damaged: set[Path] = set()

    def save(
        self,
        step: int,
        tensors: Mapping[str, Mapping[str, Tensor]],
        state: Mapping[str, Any],
        keep: int = 3,
        protect: Collection[int] = (),
    ) -> list[str]:
        """Make a checkpoint durable, then let go of all but the newest `keep` and the protected steps.

        What could not be cleaned up is told in the result; what could not be saved is an error, and then
        the checkpoints from before are still there.
        """
        if keep < 1 or step < 0:
            raise UsageError(
                f"cannot keep {keep} checkpoints at step {step}",
                "checkpoints",
                remedy="keep at least 1 checkpoint, at step 0 or later",
            )
        content = _content(step, tensors, state)
        warnings = self._cleaned()
        try:
            self._write(content)
        except DiskError as fault:
            if not system.is_full(fault):
                raise
            # Room can only come from what the new checkpoint would push out anyway.
            warnings += self._prune(max(1, keep - 1), protect)
            self._write(content)
        return warnings + self._prune(keep, protect)

    def latest(self, device: str | torch.device = "cpu") -> Checkpoint | None:
        """The newest undamaged checkpoint, with a warning for each newer one that was passed over."""
        warnings: list[str] = []
        for stored in self._found():
            try:
                return _load(stored, device, tuple(warnings))
            except (ModelFileError, DiskError) as fault:
                self._damaged.add(stored.folder)
                warnings.append(f"checkpoint {stored.folder.name} was skipped: {fault.what}")
        if warnings:
            raise ModelFileError(
                f"no checkpoint can be used; {'; '.join(warnings)}",
                str(self.folder),
                "nothing was deleted: put a good copy back, or train in another folder",
            )
        return None

    def load(self, step: int, device: str | torch.device = "cpu") -> Checkpoint:
        """The checkpoint of one step."""
        for stored in self._found():
            if stored.step == step:
                return _load(stored, device)
        steps = ", ".join(str(known) for known in self.steps()) or "none"
        raise UsageError(
            f"there is no checkpoint of step {step}", str(self.folder), f"there are: {steps}"
        )

    def steps(self) -> list[int]:
        """The steps that have a checkpoint, damaged or not, in rising order."""
        return sorted({stored.step for stored in self._found()})

    def sweep(self) -> list[str]:
        """Remove what killed processes left unfinished; for the holder of the run's lock."""
        return files.sweep(self.folder)

    def _found(self) -> list[_Found]:
        """Newest first, by the number in the name: clocks jump and copies change file times."""
        checkpoints = []
        with system.disk_errors("list", self.folder):
            folders = list(self.folder.iterdir()) if self.folder.is_dir() else []
            for folder in folders:
                if (name := _FOLDER.fullmatch(folder.name)) and folder.is_dir():
                    checkpoints.append(_Found(int(name[1]), int(name[2] or 1), folder))
        return sorted(checkpoints, reverse=True)

    def _write(self, content: _Content) -> None:
        attempts = [stored.attempt for stored in self._found() if stored.step == content.step]
        again = f"-{max(attempts) + 1}" if attempts else ""
        final = self.folder / f"step-{content.step:09d}{again}"
        with files.new_folder(final, str(content.step), content.size) as temporary:
            written = {}
            for group, layout in content.layouts.items():
                name = f"{group}.safetensors"
                written[name] = files.write_new(temporary / name, layout.pieces(), content.size)
            written[STATE] = files.write_new(temporary / STATE, content.state, content.size)
            files.write_new(temporary / MANIFEST, _manifest(content.step, written), content.size)

    def _prune(self, keep: int, protect: Collection[int]) -> list[str]:
        """Remove what is older than the newest `keep` steps that look whole and were not found damaged."""
        checkpoints = self._found()
        whole = [
            each for each in checkpoints if each.folder not in self._damaged and _looks_whole(each)
        ]
        steps = sorted({each.step for each in whole}, reverse=True)
        if len(steps) <= keep:
            return []
        warnings = []
        for each in checkpoints:
            if each.step < steps[keep - 1] and each.step not in protect:
                try:
                    files.remove_tree(files.set_aside(each.folder))
                except DiskError as fault:
                    warnings.append(
                        f"checkpoint {each.folder.name} could not be removed: {fault.what}"
                    )
        return warnings

    def _cleaned(self) -> list[str]:
        try:
            self.sweep()
        except DiskError as fault:
            return [f"unfinished files could not be removed: {fault.what}"]
        return []


def _content(
    step: int, tensors: Mapping[str, Mapping[str, Tensor]], state: Mapping[str, Any]
) -> _Content:
    for group in tensors:
        if not _GROUP.fullmatch(group):
            raise UsageError(
                f"'{group}' cannot name a group of tensors",
                "checkpoint",
                remedy="use lower-case letters and digits",
            )
    try:
        text = json.dumps(state, ensure_ascii=False, allow_nan=False).encode()
        same = strict_json.loads(text) == state
    except (TypeError, ValueError) as fault:
        raise UsageError(
            f"the state cannot be saved as JSON: {fault}",
            "checkpoint",
            remedy="use numbers, texts, lists and dicts",
        ) from fault
    if not same:
        raise UsageError(
            "the state would come back different from JSON",
            "checkpoint",
            "use lists instead of tuples, and words as keys",
        )
    layouts = {
        group: weights.lay_out(named, checked=False) for group, named in sorted(tensors.items())
    }
    return _Content(step, layouts, text)


def _manifest(step: int, written: Mapping[str, Written]) -> bytes:
    named = {name: {"size": it.size, "sha256": it.sha256} for name, it in sorted(written.items())}
    return json.dumps({"format": VERSION, "step": step, "files": named}, indent=1).encode() + b"\n"


def _load(entry: _Found, device: str | torch.device, warnings: tuple[str, ...] = ()) -> Checkpoint:
    written = _read_manifest(entry)
    tensors: dict[str, dict[str, Tensor]] = {}
    for name, it in written.items():
        if name != STATE:
            group = name.removesuffix(".safetensors")
            # A diverged run must load too: what is not finite is the trainer's to judge.
            tensors[group] = weights.read(
                entry.folder / name, device, sha256=it.sha256, allow_nonfinite=True
            )
    text = _read_small(entry.folder / STATE, written[STATE].size)
    if hashlib.sha256(text).hexdigest() != written[STATE].sha256:
        raise ModelFileError(
            f"{STATE} is not what was written: its SHA-256 differs",
            str(entry.folder),
            remedy=_EARLIER,
        )
    state = strict_json.loads(text, where=str(entry.folder / STATE))
    return Checkpoint(entry.step, entry.folder, tensors, state, warnings)


def _read_manifest(entry: _Found) -> dict[str, Written]:
    """What the files must be: the manifest has one possible form, and all it names is there in full."""
    path = entry.folder / MANIFEST
    text = _read_small(path, _LONGEST_MANIFEST)
    table = strict_json.loads(text, max_depth=3, where=str(path))
    match table:
        case {"format": int(version)} if version > VERSION:
            what = f"it is in format {version}; this regard reads up to format {VERSION}"
            raise ModelFileError(what, str(path), "install a newer regard")
        case {"files": {"state.json": _, **_rest} as named}:
            written = {name: _written(name, item, path) for name, item in named.items()}
            if _manifest(entry.step, written) == text:
                _check_sizes(entry.folder, written)
                return written
    raise ModelFileError(f"{MANIFEST} is damaged", str(path), remedy=_EARLIER)


def _written(name: str, item: object, path: Path) -> Written:
    match item:
        case {"size": int(size), "sha256": str(sha256)} if _FILE.fullmatch(name):
            return Written(size, sha256)
    raise ModelFileError(f"{MANIFEST} is damaged", str(path), remedy=_EARLIER)


def _check_sizes(folder: Path, written: Mapping[str, Written]) -> None:
    for name, it in written.items():
        path = folder / name
        with system.disk_errors("read", path):
            size = path.stat().st_size if path.is_file() else None
        if size is None:
            raise ModelFileError(f"{name} is missing", str(path), remedy=_EARLIER)
        if size != it.size:
            raise ModelFileError(
                f"{name} has {size:,} bytes instead of {it.size:,}", str(path), remedy=_EARLIER
            )


def _read_small(path: Path, limit: int) -> bytes:
    with system.disk_errors("read", path):
        try:
            with path.open("rb") as file:
                text = file.read(limit + 1)
        except FileNotFoundError:
            raise ModelFileError(f"{path.name} is missing", str(path), remedy=_EARLIER) from None
    if len(text) > limit:
        raise ModelFileError(
            f"{path.name} is longer than {limit:,} bytes", str(path), remedy=_EARLIER
        )
    return text


def _looks_whole(entry: _Found) -> bool:
    """Whether all files are there with their lengths; hashing all at each save would cost too much."""
    try:
        _read_manifest(entry)
    except (ModelFileError, DiskError):
        return False
    return True
