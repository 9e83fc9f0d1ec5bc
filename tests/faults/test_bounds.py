"""Every loader takes time and memory that are at most a small multiple of the size of what it reads.

One table: each loader, the modules it is for, and the worst files that could be thought of for it. A module
that reads files and stands neither in the table nor among those that read only what regard itself wrote, or
what the system says, fails the last test.
"""

import gzip
import lzma
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
import torch

import regard
from regard import strict_json
from regard.box.card import read as read_card
from regard.cli.studio import _token
from regard.config import parse, read_toml
from regard.data import png, store, wav
from regard.data.image import read as read_picture
from regard.data.sound import read as read_sound
from regard.data.source import understand
from regard.data.store import Ids, Store
from regard.interop.spm import SentencePiece
from regard.run import archive, weights
from regard.run.checkpoint import MANIFEST, Checkpoints
from regard.run.find import read_settings
from regard.run.folder import Run
from regard.run.load import read_task, write_task
from regard.run.lock import NAME as LOCK
from regard.run.lock import Lock
from regard.run.settings import RunSettings
from regard.run.vectors import read_vectors
from regard.studio import live
from regard.studio.shelf import is_live
from regard.text.codec import Codec
from regard.text.labels import Labels
from regard.traces import head_survey
from regard.traces.trace import Trace
from regard.training.compare_runs import ANSWERS, _known
from tests.faults import worst
from tests.faults.bounds import LARGE, MEMORY, SMALL, complaint
from tests.faults.worst import JSON, LINES, Make
from tests.tasks.kit import task_of

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="peak memory is read from /proc")
HOUSE = Path(regard.__file__).parent
HOME = Path(__file__).parents[2]


class Loader(NamedTuple):
    """The modules that read, the file's name, how it is loaded, its worst contents, and its surroundings."""

    modules: str
    name: str
    load: Callable[[Path], object]
    worst: dict[str, Make]
    prepare: Callable[[Path], Path] = lambda folder: (
        folder
    )  # a new folder -> where the file belongs
    memory: int = MEMORY  # bytes for a byte of the file


def examples(*names: str) -> Callable[[Path], object]:
    """Everything that is done with data files: recognised, counted, read, fingerprinted."""

    def load(path: Path) -> int:
        source = understand([path.with_name(name) for name in names] if names else [path])
        source.fingerprint()
        return source.count()

    return load


def a_run(folder: Path) -> Path:
    """What stands around a file of a run."""
    (folder / "config.toml").write_bytes(
        b'task = "translate"\n[data]\ntoy = "reverse"\n'
        b'[model.reader]\nkind = "rnn"\n[model.encoder]\nkind = "rnn"\n'
    )
    write_task(folder / "tokenizer.json", task_of("translate"), "translate")
    (folder / "data").mkdir()
    return folder


def checkpointed(folder: Path) -> Path:
    Checkpoints(folder).save(7, {"model": {"weight": torch.arange(13.0)}}, {"step": 7})
    return folder / "step-000000007"


def prepared(folder: Path) -> Path:
    return store.write(folder / "train", [{"source": np.arange(3)}], {"source": Ids()}).folder


def pictured(folder: Path) -> Path:
    (folder / "a.png").write_bytes(png.encode(np.zeros((4, 4, 1), np.uint8)))
    return folder


def sounding(folder: Path) -> Path:
    (folder / "a.wav").write_bytes(wav.encode(wav.Clip(np.zeros(800, np.float32), 8_000)))
    return folder


def load_archive(path: Path) -> object:
    return archive.unpack(path, path.with_name("new"))


def load_links(path: Path) -> object:
    pairs = path.with_name("pairs.tsv")
    pairs.write_text("a\tb\n" * 3)
    return head_survey.read([pairs], path)


def texts(name: str, worst_files: dict[str, Make], modules: str = "") -> Loader:
    return Loader(f"data/lines data/source {modules}", name, examples(), {**LINES, **worst_files})


def pairs(first: str, second: str, worst_files: dict[str, Make], modules: str) -> Loader:
    """Two files side by side, the second of them the worst one, too."""

    def load(path: Path) -> object:
        other = path.with_name(second)
        if not other.exists():
            other.write_bytes(path.read_bytes())
        return examples(first, second)(path)

    return Loader(modules, first, load, worst_files)


LIBRARY = (
    350  # `tokenizers` keeps so much for each letter in a tree of pieces: 400,000 letters at most
)
TABLE = {
    "JSON": Loader(
        "strict_json", "a.json", lambda path: strict_json.loads(path.read_bytes()), JSON
    ),
    "settings": Loader(
        "config", "my.toml", lambda path: parse(RunSettings, read_toml(path)), worst.SETTINGS
    ),
    "settings of a run": Loader("run/find", "config.toml", read_settings, worst.SETTINGS),
    "card": Loader("box/card", "card.toml", lambda path: read_card(path.parent), worst.TOML),
    "tokenizer": Loader(
        "run/load",
        "tokenizer.json",
        lambda path: read_task(path, "translate"),
        {name: worst.part_of_a_task(make) for name, make in (JSON | worst.VOCABULARIES).items()}
        | JSON,
        memory=LIBRARY,
    ),
    "codec": Loader(
        "text/document",
        "codec.json",
        lambda path: Codec.from_json(path.read_bytes()),
        JSON | worst.VOCABULARIES,
        memory=LIBRARY,
    ),
    "labels": Loader(
        "text/document",
        "labels.json",
        lambda path: Labels.from_json(path.read_bytes()),
        JSON | worst.LABELS,
    ),
    "weights": Loader(
        "run/weights run/header",
        "model.safetensors",
        weights.read,
        {name: worst.tensors(make) for name, make in worst.HEADERS.items()} | LINES,
    ),
    "metrics": Loader(
        "run/folder",
        "metrics.jsonl",
        lambda path: Run.open(path.parent).recorded("metrics"),
        JSON | LINES | worst.METRICS,
        a_run,
    ),
    "probes": Loader(
        "run/folder",
        "data/probes.jsonl",
        lambda path: Run.open(path.parent.parent).probes(),
        JSON | LINES | worst.METRICS,
        a_run,
    ),
    "checkpoint": Loader(
        "run/checkpoint",
        MANIFEST,
        lambda path: Checkpoints(path.parent.parent).load(7),
        JSON,
        checkpointed,
    ),
    "prepared data": Loader(
        "data/store data/columns",
        store.HEADER,
        lambda path: Store.open(path.parent),
        JSON | worst.COLUMNS,
        prepared,
    ),
    "archive": Loader("run/archive", "run.zip", load_archive, worst.ARCHIVES),
    "trace": Loader("traces/trace_file traces/trace_header", "a.npz", Trace.load, worst.TRACES),
    "sound": Loader("data/sound data/wav", "a.wav", read_sound, worst.SOUNDS),
    "picture": Loader("data/image", "a.png", read_picture, worst.PICTURES),
    "lock": Loader("run/lock", LOCK, lambda path: Lock(path.parent).__enter__(), JSON),
    "lock, looked at": Loader("studio/shelf", LOCK, lambda path: is_live(path.parent), JSON),
    "metrics in the studio": Loader(
        "studio/live", "metrics.jsonl", live.read_lines, JSON | LINES | worst.METRICS
    ),
    "first line in the studio": Loader(
        "studio/live", "metrics.jsonl", live.first_line, JSON | LINES
    ),
    "answers of a comparison": Loader(
        "training/compare_runs", ANSWERS, lambda path: _known(path.parent, "x"), JSON
    ),
    "token": Loader("cli/studio", "token", lambda path: _token(None, path), LINES),
    "lines": texts("a.txt", {}),
    "TSV": texts("a.tsv", {"rows": worst.repeated("a\tb\n")}, "data/formats/table"),
    "CSV": texts("a.csv", worst.CSV, "data/formats/table"),
    "JSON lines": texts("a.jsonl", worst.RECORDS, "data/formats/record"),
    "CoNLL": texts("a.conll", worst.CONLL),
    "CoNLL-U": texts("a.conllu", worst.CONLLU),
    "gettext": texts("a.po", worst.PO),
    "TMX": texts("a.tmx", worst.XML, "data/formats/markup"),
    "XLIFF": texts("a.xlf", {name: worst.xliff(make) for name, make in worst.XML.items()}),
    "subtitles": texts("a.srt", worst.SRT),
    "paired subtitles": pairs("a.en.srt", "a.de.srt", worst.SRT, "data/formats/subtitle"),
    "parallel text": pairs("a.en", "a.de", LINES, "data/lines"),
    "links": Loader(
        "traces/head_survey", "a.links", load_links, {**LINES, "links": worst.repeated("0-0 ")}
    ),
    "trees": texts("a.mrg", worst.TREES, "data/formats/bracketed text/trees"),
    "vectors": Loader(
        "run/vectors",
        "a.vec",
        lambda path: read_vectors(path, {"a": 5, "a b": 6}),
        worst.VECTORS,
    ),
    "captions": Loader(
        "data/formats/media_table", "a.tsv", examples(), worst.tables(".png"), pictured
    ),
    "recordings": Loader(
        "data/formats/media_table", "a.tsv", examples(), worst.tables(".wav"), sounding
    ),
    "pieces of sentencepiece": Loader(
        "interop/spm", "a.spm", SentencePiece.read, worst.SENTENCEPIECE
    ),
    "gzip": Loader("data/lines", "a.txt", examples(), worst.bombs(gzip.compress)),
    "xz": Loader("data/lines", "a.txt", examples(), worst.bombs(lzma.compress)),
    "zstd": Loader("data/lines", "a.txt", examples(), worst.bombs(worst.zstd)),
    "Arrow stream": Loader(
        "data/formats/columnar",
        "a.arrow",
        examples(),
        worst.columns(lambda kind: worst.arrow(kind, stream=True)),
    ),
    "Arrow file": Loader(
        "data/formats/columnar",
        "a.arrow",
        examples(),
        worst.columns(lambda kind: worst.arrow(kind, stream=False)),
    ),
    "packed Arrow stream": Loader(
        "data/formats/columnar",
        "a.arrow",
        examples(),
        worst.columns(lambda kind: worst.arrow(kind, stream=True, compression="zstd"))
        | {"a bomb": worst.bomb(stream=True)},
    ),
    "packed Arrow file": Loader(
        "data/formats/columnar",
        "a.arrow",
        examples(),
        worst.columns(lambda kind: worst.arrow(kind, stream=False, compression="zstd"))
        | {"a bomb": worst.bomb(stream=False)},
    ),
    "Parquet": Loader(
        "data/formats/columnar",
        "a.parquet",
        examples(),
        worst.columns(worst.parquet),
    ),
}


def complaints(name: str, place: Path) -> list[str]:
    """What is wrong with the cost of one loader."""
    loader, wrong = TABLE[name], []
    for number, (what, make) in enumerate(loader.worst.items()):
        paths = []
        for size in (SMALL, LARGE):
            folder = place / f"{number}-{size}"
            folder.mkdir()
            paths.append(loader.prepare(folder) / loader.name)
            paths[-1].write_bytes(make(size))
        if found := complaint(loader.load, *paths, loader.memory):
            wrong.append(f"{name}, {what}: {found}")
    return wrong


def measured(place: Path, *names: str) -> str:
    """What a process finds that has no shape checks: these cost more than what is measured."""
    code = "from tests.faults.test_bounds import main; main()"
    command = [sys.executable, "-c", code, str(place), *names]
    done = subprocess.run(command, cwd=HOME, check=False, text=True, capture_output=True)
    return done.stdout + (done.stderr if done.returncode else "")


@pytest.mark.slow
def test_time_and_memory_grow_with_the_file_and_no_faster(tmp_path):
    assert measured(tmp_path) == ""


def test_some_of_them(tmp_path):
    """The quick ones, of which some once took gigabytes."""
    some = ("JSON", "weights", "archive", "lock", "Arrow stream", "Arrow file", "TSV", "TMX")
    assert measured(tmp_path, *some) == ""


def test_a_loader_that_is_too_slow_or_too_large_is_found(tmp_path):
    """The measure itself: squares of time and of memory, a fault and a death are told."""
    small, large = tmp_path / "small", tmp_path / "large"
    small.write_bytes(bytes(1000))
    large.write_bytes(bytes(4000))

    def slow(path):
        return sum(1 for _ in range(path.stat().st_size ** 2))

    def large_one(path):
        return len(bytes(7 * path.stat().st_size ** 2).replace(b"\0", b"1"))

    assert "took" in complaint(slow, small, large)
    assert "bytes of memory" in complaint(large_one, small, large)
    assert "ZeroDivisionError" in complaint(lambda _: 1 / 0, small, large)
    assert "ended with -9" in complaint(lambda _: os.kill(os.getpid(), 9), small, large)
    assert complaint(Path.read_bytes, small, large) == ""


def main() -> None:
    """Each loader that is named, or all; nothing is printed where nothing is wrong."""
    place, *names = sys.argv[1:]
    torch.set_num_threads(1)
    for number, name in enumerate(names or TABLE):
        folder = Path(place, str(number))
        folder.mkdir(parents=True)
        for wrong in complaints(name, folder):
            print(wrong)
        shutil.rmtree(folder)


READS = re.compile(
    r"\.open\(\s*\"r|\bopen\(|\.read_text\(|\.read_bytes\(|json\.loads|strict_json\.loads|\bloads\(|tomllib|zipfile"
    r"|\blzma\b|\bgzip\b|expat|memmap|csv\.reader|read_bounded\(|system\.opened\(|FileIO\(|os\.open\("
)
OURS = {  # why a module that reads is not in the table
    "presets/__init__": "the presets of the package",
    "cli/models": "the cards of the package",
    "show/page": "the page of the package",
    "studio/state": "the page of the package",
    "training/machine": "what the system says of the processor",
    "run/device": "what the system says of the processor and of memory",
    "run/system": "opens files for others, and reads what the system says of a process",
    "run/files": "writes",
    "data/formats/format": "names a compression",
    "measure/instruments": "what the system says of memory",
    "studio/server": "what the system says of ports",
    "signals": "the null device",
    "cli/lesson": "a number or a list that was typed",
    "tasks/multisource": "a part of tokenizer.json, which run/load has bounded",
    "tasks/point": "the same: the numbers that it learned from",
    "interop/tokenizer_out": "a tokenizer up to 256 MiB, which the library has read before",
    "text/learn": "what the library has just learned",
    "run/pack": "the files of a run, up to a bound, after the run was opened",
    "run/origin": "a fingerprint of ours, and the weights of a run through run/weights",
    "cli/target": "the first 512 bytes",
    "answer/stream": "answers of ours, line by line, to count them",
    "cli/options": "names a compression",
    "cli/look": "opens a model that is brought, through interop",
    "cli/meaning": "opens a model that is brought, through interop",
    "interop/studied": "opens a model that is brought, through interop",
    "question": "a question that was typed or sent, up to its bound",
    "interop/bring": "the settings of a model that is brought, up to 4 MiB; transformers reads the rest",
    "interop/incoming": "settings and vocabularies of a model that is brought, up to 64 MiB",
    "interop/importing": "settings up to 4 MiB, and a text file to compare answers on",
    "interop/marian": "the vocabulary of a model that is brought, up to 64 MiB",
    "studio/brought": "the settings of a model that is brought, up to 4 MiB",
    "studio/refusal": "a request, up to its bound: tests/studio/test_body.py measures it",
}
OTHER_OPENS = re.compile(
    r"(Run|Store|self|residual|reading|following|webbrowser|writer)\.open\(|def open\("
)


def test_every_module_that_reads_is_in_the_table():
    """A new loader fails here until it stands in the table above."""
    found = set()
    for path in HOUSE.rglob("*.py"):
        text = OTHER_OPENS.sub("", path.read_text("utf-8"))
        if READS.search(text):
            found.add(str(path.relative_to(HOUSE).with_suffix("")))
    covered = {module for loader in TABLE.values() for module in loader.modules.split()}
    assert found - covered - set(OURS) == set()
    assert {one for one in covered | set(OURS) if not (HOUSE / f"{one}.py").is_file()} == set()
