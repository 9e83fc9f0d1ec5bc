"""Settings <-> TOML, strict: an unknown key is an error that names its path and the nearest right word."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args, get_origin

from pydantic import BaseModel, ConfigDict, ValidationError

from regard.errors import UsageError, missing, nearest

S = TypeVar("S", bound="Settings")

LARGEST = 1 << 18  # bytes of a settings file
LARGEST_BITS = 64  # of an integer
MOST_TABLES = 2_000
MOST_VALUES = 10_000  # in a tree of settings: the names of many files, at most
# Python's reader of TOML takes memory with the square of the parts of a key: a.a.a.a = 1.
_DOTTED = re.compile(r"(?<![\w-])(?:[\w-]++[ \t]*+\.[ \t]*+){32}")
_STRING = re.compile(
    r'''"""(?:[^"\\]++|\\.|"(?!""))*+(?:"""|\Z)|"(?:[^"\\\n]++|\\.)*+"?|'''
    r"""'''(?:[^']++|'(?!''))*+(?:'''|\Z)|'[^'\n]*+'?|#[^\n]*+""",
    re.DOTALL,
)
MOST_FAULTS = 8  # told at once
WIDEST_ROW = 34  # after which a meaning stands in no column
_WANTED = {
    "int": "an integer",
    "float": "a number",
    "bool": "true or false",
    "string": "text",
    "list": "a list",
    "tuple": "a list",
    "model": "a group of settings",
}
# What other libraries call our settings.
_SYNONYMS = {
    "lr": "rate",
    "learning_rate": "rate",
    "batch_size": "tokens",
    "max_steps": "steps",
    "num_epochs": "epochs",
    "warmup_steps": "warmup",
    "label_smoothing": "smoothing",
    "weight_decay": "decay",
    "d_model": "width",
    "hidden_size": "width",
    "num_layers": "layers",
    "num_heads": "heads",
    "vocab_size": "vocabulary",
    "beam_size": "beam",
    "num_beams": "beam",
}


class Settings(BaseModel):
    """A frozen group of settings: values that print themselves, compare, and refuse unknown keys."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        protected_namespaces=(),
        allow_inf_nan=False,
        use_attribute_docstrings=True,
    )


def parse(
    kind: type[S], tree: Mapping[str, Any], where: str = "settings", changes: Iterable[str] = ()
) -> S:
    """Turn a nested dict into settings; every fault is listed with its dotted path.

    Of the `changes` that went into the tree (`a.b=c`), the first at fault is named in place of `where`.
    """
    _refuse_absurd(tree, where)
    try:
        return kind.model_validate(dict(tree))
    except ValidationError as fault:
        faults = _joined(fault.errors(include_url=False))
        lines = _without_echo([_explain(kind, one) for one in faults[:MOST_FAULTS]])
        if len(faults) > MOST_FAULTS:
            lines.append(f"and {len(faults) - MOST_FAULTS} more")
        where = _guilty(lines, changes) or where
        raise UsageError("; ".join(lines), where, _remedy(kind, faults)) from None


def read_toml(path: Path) -> dict[str, Any]:
    """One TOML file as a nested dict."""
    try:
        with path.open("rb") as file:
            text = file.read(LARGEST + 1)
    except FileNotFoundError:
        raise missing(path, "settings file") from None
    except IsADirectoryError:
        what, remedy = "this is a folder, not a settings file", "name a file in it: my.toml"
        raise UsageError(what, str(path), remedy) from None
    if len(text) > LARGEST:
        raise UsageError(
            f"settings have at most {LARGEST:,} bytes",
            where=str(path),
            remedy="this is no file of settings: `regard config bahdanau2015` shows what one looks like",
        )
    return loads_toml(text, str(path))


def loads_toml(text: bytes, where: str) -> dict[str, Any]:
    """TOML as a nested dict, in time and memory that grow with its length and no faster."""
    try:
        decoded = text.decode("utf-8")
        bare = _STRING.sub("_", decoded)
        if _DOTTED.search(bare):
            raise ValueError("a key has more than 32 parts")
        if bare.count("[") > MOST_TABLES:
            raise ValueError(f"there are more than {MOST_TABLES:,} tables and lists")
        return tomllib.loads(decoded)
    except (ValueError, RecursionError) as fault:  # numbers of 5,000 digits, brackets without end
        raise UsageError(
            f"this is not TOML: {_short(str(fault))}",
            where=where,
            remedy="`regard config bahdanau2015` shows how settings are written",
        ) from None


def overlay(tree: Mapping[str, Any], changes: Iterable[str]) -> dict[str, Any]:
    """Apply `a.b=c` changes to a nested dict; the right side is TOML, or else plain text."""
    result: dict[str, Any] = json.loads(json.dumps(tree))
    for change in changes:
        path, equals, text = change.partition("=")
        if not equals or not path.strip():
            raise UsageError(
                f"'{change}' is not a setting", where="--set", remedy="write it as a.b=value"
            )
        *parents, last = path.strip().split(".")
        branch = result
        for parent in parents:
            branch = branch.setdefault(parent, {})
            if not isinstance(branch, dict):
                what = f"{path}: '{parent}' is a value, not a group"
                raise UsageError(
                    what,
                    where=f"--set {_short(change)}",
                    remedy=f"end the name there: --set {path.partition(f'.{last}')[0]}=VALUE",
                )
        branch[last] = _value(text.strip())
    return result


def merge(under: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Two nested dicts as one; where both speak, `over` is right."""
    result = dict(under)
    for key, value in over.items():
        below = result.get(key)
        both = isinstance(value, Mapping) and isinstance(below, Mapping)
        # A different `kind` is a different group: its old companions do not carry over.
        if both and value.get("kind", below.get("kind")) == below.get("kind"):  # type: ignore[union-attr]
            result[key] = merge(below, value)  # type: ignore[arg-type]
        else:
            result[key] = value
    return result


def to_toml(settings: Settings, *, explained: bool = False) -> str:
    """Settings as TOML text that `parse` reads back to an equal value; `explained`, with what each means."""
    lines: list[str] = []
    _write_table(settings.model_dump(mode="json"), (), lines, settings if explained else None)
    return "\n".join(lines).strip() + "\n"


def meaning(group: type[Settings], name: str) -> str:
    """What a setting is for, in full sentences, and what it may be where that is a choice."""
    field = group.model_fields[name]
    words = " ".join((field.description or "").split())
    choices = _choices(field.annotation)
    return f"{words} One of {', '.join(choices)}." if len(choices) > 1 else words


def _choices(annotation: Any) -> list[str]:
    """The words of a Literal, alone or among others."""
    if get_origin(annotation) is Literal:
        return [str(choice) for choice in get_args(annotation)]
    return [choice for part in get_args(annotation) for choice in _choices(part)]


def _value(text: str) -> Any:
    try:
        return loads_toml(f"value = {text}".encode(), "")["value"]
    except UsageError:
        return text


def _write_table(
    table: Mapping[str, Any], path: tuple[str, ...], lines: list[str], told: Settings | None
) -> None:
    groups = {key: value for key, value in table.items() if isinstance(value, dict)}
    plain = {key: value for key, value in table.items() if key not in groups}
    if path and (plain or not groups):
        lines += ["", f"[{'.'.join(_key(part) for part in path)}]"]
    rows = {
        key: f"{_key(key)} = {_literal(value)}" for key, value in plain.items() if value is not None
    }
    lines += rows.values() if told is None else _explained(plain, rows, type(told))
    for key, value in groups.items():
        below = getattr(told, key, None)
        _write_table(value, (*path, key), lines, below if isinstance(below, Settings) else None)


def _explained(
    names: Iterable[str], rows: Mapping[str, str], group: type[Settings]
) -> Iterator[str]:
    """Each row with its meaning behind it, in one column; what is not set is there, too, as a comment."""
    column = min(WIDEST_ROW, max((len(row) for row in rows.values()), default=0))
    for name in names:
        row, note = rows.get(name, f"# {_key(name)} ="), meaning(group, name)
        yield f"{row:<{column}}  # {note}" if note else row


def _key(key: str) -> str:
    return (
        key
        if key.replace("-", "").replace("_", "").isalnum() and key.isascii()
        else json.dumps(key)
    )


def _literal(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        # JSON's escapes are TOML's, but for DEL, which TOML wants written out.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_literal(item) for item in value) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_key(k)} = {_literal(v)}" for k, v in value.items()) + "}"
    return str(value)


def _refuse_absurd(tree: Any, where: str) -> None:
    """Refuse an integer that could not even be shown, and a crowd; level by level, whatever the depth."""
    level, count = [tree], 0
    while level:
        if any(isinstance(node, int) and node.bit_length() > LARGEST_BITS for node in level):
            raise UsageError(
                "an integer needs more than 64 bits",
                where=where,
                remedy="write a smaller number: no setting needs one as long",
            )
        below = (
            node.values() if isinstance(node, Mapping) else node
            for node in level
            if isinstance(node, (Mapping, list, tuple))
        )
        level = [child for children in below for child in children]
        count += len(level)
        if count > MOST_VALUES:
            raise UsageError(
                f"there are more than {MOST_VALUES:,} values",
                where=where,
                remedy="name a folder instead of all the files in it",
            )


def _joined(faults: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """One value that is none of several words is one fault, though each list of words complains.

    Which of several types a value was taken for, `(list)`, is no part of its path.
    """
    joined: dict[tuple[Any, ...], Mapping[str, Any]] = {}
    for number, fault in enumerate(faults):
        place = tuple(part for part in fault["loc"] if not str(part).startswith(("literal[", "(")))
        key = place if fault["type"] == "literal_error" else (*place, number)
        if key in joined:
            both = f"{joined[key]['ctx']['expected']}, {fault['ctx']['expected']}"
            joined[key] = {**joined[key], "ctx": {"expected": both}}
        else:
            joined[key] = {**fault, "loc": place}
    return list(joined.values())


def _explain(kind: type[Settings], fault: Mapping[str, Any]) -> str:
    location = [str(part) for part in fault["loc"]]
    # A discriminated union puts the tag into the path; a person did not write it there.
    groups, shown = _walk(kind, location)
    # A fault of the whole has no path.
    path = f"{_short('.'.join(shown))}: " if shown else ""
    match fault["type"]:
        case "extra_forbidden":
            return f"{path}no such setting; {_meant(kind, shown, groups)}"
        case "union_tag_not_found":
            return f"{path}its kind is missing"
        case "union_tag_invalid":
            tag, kinds = (
                fault["ctx"]["tag"],
                re.findall(r"'([^']*)'", fault["ctx"]["expected_tags"]),
            )
            return f"{path}no kind '{_short(tag)}'; {nearest(tag, kinds)}"
        case "missing":
            return f"{path}missing"
        case "literal_error" if isinstance(fault["input"], str):
            words = re.findall(r"'([^']*)'", fault["ctx"]["expected"])
            return f"{path}no '{_short(fault['input'])}'; {nearest(fault['input'], words)}"
        case "value_error":  # our own words, which say what was wrong
            return f"{path}{fault['ctx']['error']}"
        case _:
            return f"{path}{_short(_wanted(fault))}, not {_short(repr(fault.get('input')))}"


def _meant(kind: type[Settings], shown: Sequence[str], groups: Iterable[type[Settings]]) -> str:
    """The setting of that name in another group (`steps` is `train.steps`), or the nearest one of its own."""
    name = shown[-1] if shown else ""
    elsewhere = [path for path in places(kind, name) if path != ".".join(shown)]
    if elsewhere:
        return f"did you mean {' or '.join(repr(path) for path in elsewhere)}?"
    return nearest(name, {own for group in groups for own in group.model_fields})


def places(kind: type[Settings], name: str) -> list[str]:
    """The paths of all settings with this last name, or with what other libraries call by it."""
    own = _SYNONYMS.get(name, name)
    return sorted({path for path in paths(kind) if path.rpartition(".")[2] == own})


def paths(kind: type[Settings], above: str = "") -> Iterator[str]:
    """The dotted path of every setting: `train.steps`, `model.encoder.width`."""
    for name, field in kind.model_fields.items():
        groups = _groups(field.annotation)
        if not groups:
            yield f"{above}{name}"
        for group in groups:
            yield from paths(group, f"{above}{name}.")


def _wanted(fault: Mapping[str, Any]) -> str:
    """What a value must be, in words that somebody who never saw a type understands."""
    kind, _, how = fault["type"].partition("_")
    if kind in _WANTED and how in ("type", "parsing", "parsing_size", "from_float"):
        return f"must be {_WANTED[kind]}"
    return re.sub(r"^\w+ should", "must", str(fault["msg"]))


def _guilty(lines: Iterable[str], changes: Iterable[str]) -> str:
    """The change behind the first fault: the same setting, or one inside the group at fault."""
    path = next(iter(lines)).partition(":")[0]
    for change in changes:
        if f"{change.partition('=')[0].strip()}.".startswith(f"{path}."):
            return f"--set {_short(change)}"
    return ""


def _short(text: str) -> str:
    return text if len(text) <= 200 else f"{text[:199]}…"


def _without_echo(lines: list[str]) -> list[str]:
    """The same long list of choices is told once."""
    shown: set[str] = set()
    short = []
    for line in lines:
        head, mark, choices = line.partition("; choose one of: ")
        short.append(head if mark and choices in shown else line)
        shown.add(choices)
    return short


def _remedy(kind: type[Settings], faults: Iterable[Mapping[str, Any]]) -> str:
    """The default of the first setting at fault as an example, or where all settings are listed."""
    for fault in faults:
        location = [str(part) for part in fault["loc"]]
        groups, shown = _walk(kind, location)
        fields = [
            g.model_fields[location[-1]]
            for g in groups
            if location[-1:] and location[-1] in g.model_fields
        ]
        default = fields[0].get_default() if fields else None
        if isinstance(default, bool | int | float | str):
            return f"for example {'.'.join(shown)} = {_literal(default)}"
    return "`regard config PRESET` shows every setting and what it may be"


def _walk(kind: type[Settings], location: list[str]) -> tuple[list[type[Settings]], list[str]]:
    """The settings groups at the end of a path, and the path without union tags."""
    groups: list[type[Settings]] = [kind]
    shown: list[str] = []
    for part in location[:-1]:
        kinds = [g.model_fields[part].annotation for g in groups if part in g.model_fields]
        if kinds:
            shown.append(part)
            groups = [g for annotation in kinds for g in _groups(annotation)]
        else:
            tagged = [g for g in groups if part in _tags(g)]
            groups = tagged or groups
            if not tagged:
                shown.append(part)
    return groups, [*shown, *location[-1:]] if location else shown


def _groups(annotation: Any) -> list[type[Settings]]:
    if isinstance(annotation, type) and get_origin(annotation) is None:
        return [annotation] if issubclass(annotation, Settings) else []
    return [group for inner in get_args(annotation) for group in _groups(inner)]


def _tags(group: type[Settings]) -> tuple[Any, ...]:
    field = group.model_fields.get("kind")
    return get_args(field.annotation) if field is not None else ()
