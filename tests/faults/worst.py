"""The worst files that could be thought of for each loader, of any size that is asked for."""

from __future__ import annotations

import io
import json
import warnings
import zipfile
from collections.abc import Callable, Iterator
from itertools import count

import numpy as np

from regard.data import png, wav
from regard.text.settings import TextSettings
from regard.text.vocabulary import reserved
from tests.traces.kit import traced

Make = Callable[[int], bytes]


def repeated(piece: str | bytes, before: str | bytes = b"", after: str | bytes = b"") -> Make:
    """As many pieces as make a file of the size that is asked for."""
    head, body, tail = (
        one.encode() if isinstance(one, str) else one for one in (before, piece, after)
    )
    return lambda size: head + body * ((size - len(head) - len(tail)) // len(body)) + tail


def numbered(piece: str, before: str = "", after: str = "", between: str = "") -> Make:
    """As `repeated`, of pieces that each hold a number of their own."""

    def make(size: int) -> bytes:
        parts, room = [], size - len(before) - len(after)
        for part in (piece.format(number) for number in count()):
            if (room := room - len(part) - len(between)) < 0:
                return f"{before}{between.join(parts)}{after}".encode()
            parts.append(part)
        raise AssertionError

    return make


JSON = {
    "lists": repeated("[],", "[", "0]"),
    "lists in lists": repeated("[", "", ""),
    "objects in objects": repeated('{"a":'),
    "objects": repeated("{},", "[", "0]"),
    "numbers": repeated("1,", "[", "1]"),
    "fractions": repeated("1.5,", "[", "1]"),
    "digits": repeated("9", "[", "]"),
    "many digits": repeated("9" * 4000 + ",", "[", "1]"),
    "texts": repeated('"",', "[", "0]"),
    "escapes": repeated('\\"', '["', '"]'),
    "an open text": repeated('\\"', '"'),
    "halves of characters": repeated("\\ud800", '["', '"]'),
    "keys": numbered('"{}":0', "{", "}", ","),
    "one key": repeated('"a":0,', "{", '"a":0}'),
    "wide characters": repeated("\\ud83d\\ude00", '["', '"]'),
    "one wide character": repeated("a", '["', '\U0001f600"]'),
    "spaces": repeated(" ", "[", "]"),
    "zeros": repeated(b"\0"),
    "not UTF-8": repeated(b"\xff"),
}
LINES = {
    "empty lines": repeated("\n"),
    "short lines": repeated("0\n"),
    "one line": repeated("a"),
    "tabs": repeated("\t", "", "\n"),
    "tabs and lines": repeated("\t\n"),
    "quotes": repeated('"'),
    "quoted line ends": repeated("\n", '"'),
    "carriage returns": repeated("\r"),
    "commas": repeated(","),
    "spaces": repeated(" "),
    "zeros": repeated(b"\0"),
    "not UTF-8": repeated(b"\xff\n"),
    "binary": repeated(bytes(range(256))),
}
TOML = {
    "a dotted key": repeated("a.", "", "a=1"),
    "a spaced dotted key": repeated("a . ", "", "a=1"),
    "a quoted dotted key": repeated('"a".', "", "a=1"),
    "a dotted table": repeated("a.", "[", "a]"),
    "dotted keys": numbered("a.b{}=1\n"),
    "deep keys": numbered("a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.b{}=1\n"),
    "tables": numbered("[a{}]\n"),
    "tables in a table": numbered("[a.b{}]\n"),
    "arrays of tables": repeated("[[a]]\n"),
    "arrays of dotted tables": repeated("[[a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a]]\n"),
    "lists": repeated("[],", "a=[", "]"),
    "lists in lists": repeated("[", "a="),
    "tables in tables": repeated("{a=", "a="),
    "tables in a list": repeated("{},", "a=[", "]"),
    "numbers": repeated("1,", "a=[", "]"),
    "digits": repeated("9", "a="),
    "hexadecimal digits": repeated("f", "a=0x"),
    "a fraction": repeated("9", "a=0."),
    "texts": repeated("'',", "a=[", "]"),
    "an open text": repeated('\\"', 'a="'),
    "an open long text": repeated('\\"', 'a="""'),
    "quotes": repeated('"', "a="),
    "quotes again": repeated("'", "a="),
    "comments": repeated("#\n"),
    "keys": numbered("a{}=1\n"),
    "dates": repeated("1979-05-27T07:32:00Z,", "a=[", "]"),
    "spaces": repeated(" ", "a="),
    "zeros": repeated(b"\0"),
    "not UTF-8": repeated(b"\xff"),
}
XML = {
    "elements in elements": repeated("<a>", "<?xml version='1.0'?>"),
    "elements": repeated("<a/>", "<tmx>", "</tmx>"),
    "attributes": numbered(" a{}=''", "<tmx", "/>"),
    "an open attribute": repeated("a", "<tmx a='"),
    "an open element": repeated("a", "<tmx><"),
    "an open comment": repeated("-", "<tmx><!--"),
    "an open character": repeated("a", "<tmx>&"),
    "characters by number": repeated("&#65;", "<tmx><tu><tuv><seg>", "</seg></tuv></tu></tmx>"),
    "units": repeated("<tu/>", "<tmx>", "</tmx>"),
    "segments": numbered("<tuv lang='{}'><seg/></tuv>", "<tmx><tu>", "</tu></tmx>"),
    "a long segment": repeated("a", "<tmx><tu><tuv><seg>", "</seg></tuv></tu></tmx>"),
    "segments in segments": repeated("<seg>a", "<tmx><tu><tuv>"),
    "an open section": repeated("]", "<tmx><![CDATA["),
    "declarations": repeated("<!ENTITY a 'b'>", "<!DOCTYPE tmx [", "]>"),
    "a document type": repeated("<!ELEMENT a (a,a)>", "<!DOCTYPE tmx [", "]><tmx/>"),
    "spaces": repeated(" ", "<tmx"),
    "namespaces": numbered("<x{}:tu/>", "<tmx>", "</tmx>"),
}


def xliff(make: Make) -> Make:
    def renamed(size: int) -> bytes:
        text = (
            make(size)
            .replace(b"<tmx", b"<xliff version='1.2'><file")
            .replace(b"</tmx>", b"</file></xliff>")
        )
        text = text.replace(b"tuv", b"source").replace(b"<seg>", b"").replace(b"</seg>", b"")
        return text.replace(b"<tu>", b"<trans-unit>").replace(b"</tu>", b"</trans-unit>")

    return renamed


PO = {
    "messages": numbered('msgid "{}"\nmsgstr "a"\n\n'),
    "pieces of a message": repeated('""\n', 'msgid ""\nmsgstr ""\n'),
    "letters of a message": repeated('"a"\n', 'msgid ""\nmsgstr ""\n'),
    "plurals": numbered('msgstr[{}] "a"\n', 'msgid ""\nmsgid "a"\nmsgid_plural "b"\n'),
    "escapes": repeated("\\n", 'msgid ""\nmsgid "a"\nmsgstr "', '"'),
    "spaces before nothing": repeated(" ", 'msgid ""\nmsgid '),
    "spaces behind": repeated(" ", 'msgid ""\nmsgid "a"', "x"),
    "comments": repeated("#, fuzzy\n", 'msgid ""\n'),
}
SRT = {
    "cues": numbered("{}\n00:00:01,000 --> 00:00:02,000\na\n\n"),
    "cues at one time": repeated("1\n00:00:01,000 --> 90:00:02,000\na\n\n"),
    "lines of a cue": repeated("a\n", "1\n00:00:01,000 --> 00:00:02,000\n"),
    "open styles": repeated("<b ", "1\n00:00:01,000 --> 00:00:02,000\n"),
    "open braces": repeated("{\\", "1\n00:00:01,000 --> 00:00:02,000\n"),
    "styles": repeated("<b>", "1\n00:00:01,000 --> 00:00:02,000\n"),
    "spaces": repeated(" ", "1\n00:00:01,000 --> 00:00:02,000\n", "a\n"),
    "almost times": repeated(" ", "1\n00:00:01,000 --> 00:00:02,000\n\n2\n", "x\n"),
}
RECORDS = {
    name: (
        lambda size, make=make: (
            b'{"src": "a", "tgt": "b"}\n{"src": '
            + make(size - 60).replace(b"\n", b" ")
            + b', "tgt": "b"}\n'
        )
    )
    for name, make in JSON.items()
} | {
    "objects": repeated('{"src":"a","tgt":"b"}\n'),
    "empty objects": repeated("{}\n", '{"src":"a","tgt":"b"}\n'),
    "lists of lists": repeated("[" * 400 + "]" * 400 + ",", '{"src":[', '0],"tgt":"b"}\n'),
    "points": repeated("[1,2],", '{"items":[', '[1,2]],"positions":[0]}\n'),
    "words": repeated('"a",', '{"tokens":[', '"a"],"tags":["b"]}\n'),
}
CONLL = {
    "words": repeated("a\tB\n", "a\tB\n\n"),
    "sentences": repeated("a\tB\n\n"),
    "columns": repeated("a\t", "a\tB\n\n"),
    "spaces": repeated(" ", "a\tB\n\na", "b\n"),
    "document starts": repeated("-DOCSTART-\n"),
}
CONLLU = {
    "words": repeated("1\ta\t_\tX\t_\t_\t_\t_\t_\t_\n"),
    "comments": repeated("#\n"),
    "ranges": repeated("1-2\ta\t_\tX\t_\t_\t_\t_\t_\t_\n"),
    "columns": repeated("1\t"),
}

TREES = {
    "trees": repeated("(S (A a))\n", "(S (A a) (B b))\n"),
    "lines of a tree": repeated("(A a)\n", "(S (A a)\n(B b)\n", ")"),
    "a tree of one line": repeated("(A a)", "(S (A a)(B b)", ")"),
    "brackets that stay open": repeated("(S\n", "(S (A a) (B b))\n"),
    "brackets in brackets": lambda size: b"(S" * (size // 4) + b" a" + b")" * (size // 4 - 1),
    "brackets that close": repeated(")", "(S (A a) (B b))\n"),
    "brackets without names": repeated("()", "(S (A a) (B b)", ")"),
    "words": repeated(" a", "(S (A a) (B b", "))"),
    "spaces": repeated(" ", "(S (A a) (B b", "))"),
    "traces": repeated("(-NONE- *)", "(S (A a) (B b)", ")"),
}
VECTORS = LINES | {
    "words": repeated("a 0.5 0.25 1\n", "b 1 2 3\n"),
    "strangers": numbered("w{} 0.5 0.25 1\n", "b 1 2 3\n"),
    "numbers of a word": repeated(" 1", "a 1 2\na", "\n"),
    "a wide vector": repeated(" 1", "a"),
    "a head that lies": repeated("a 1 2\n", "999999999 4096\n"),
    "digits": repeated("9", "a 1 2\na 1 "),
    "a long word": repeated("a", "a 1 2\n", " 1 2\n"),
    "words of words": repeated("a ", "a 1 2\n", " 1 2\n"),
}
NAMES = {  # a table of files beside a picture or a sound of the name `a`; `{}` is its ending
    "rows": "a{}\tone\n",
    "strangers": "b/{n}{}\tone\n",
    "long ways": "a/" * 500 + "a{}\tone\n",
    "dots": "../" * 20 + "./" * 500 + "a{}\tone\n",
    "texts": "a{}\t" + "one " * 200 + "\n",
    "cells": "a{}" + "\tone" * 200 + "\n",
}


def tables(ending: str) -> dict[str, Make]:
    """Tables that name one file again and again, and others that are not there."""
    return LINES | {
        name: numbered(row.replace("{}", ending).replace("{n}", "{}"), f"a{ending}\tone\n")
        for name, row in NAMES.items()
    }


def stretch(field: int, content: bytes) -> bytes:
    """A field of a message of protocol buffers, up to 127 bytes of it."""
    return bytes([field << 3 | 2, len(content)]) + content


def piece(text: bytes) -> bytes:
    return stretch(1, stretch(1, text) + b"\x15\0\0\0\0")


SENTENCEPIECE = LINES | {
    "pieces": repeated(piece(b"ab")),
    "empty pieces": repeated(piece(b"")),
    "numbers": repeated(b"\x08\1"),
    "a number without end": repeated(b"\xff", b"\x08"),
    "pieces of pieces": repeated(stretch(1, stretch(1, stretch(1, b"")) * 9)),
    "trainers": repeated(stretch(2, b"\x18\1")),
    "a stretch that lies": repeated(b"a", b"\x0a\xff\xff\xff\xff\x0f"),
}


def bombs(pack: Callable[[bytes], bytes]) -> dict[str, Make]:
    """What unpacks to as much as the format allows: a packed piece again and again."""
    worst = {
        "text": b"ab cd\n",
        "empty lines": b"\n",
        "one line": b"a",
        "records": b'{"src":"a","tgt":"b"}\n',
    }

    def again(text: bytes) -> Make:
        return lambda size: repeated(pack(text * ((1 << 20) // len(text))))(size)

    return {name: again(text) for name, text in worst.items()} | {
        "empty pieces": lambda size: repeated(pack(b""))(size),
        "cut": lambda size: pack(np.random.default_rng(0).bytes(size))[:-9],
        "damaged": lambda size: pack(b"a b c\n")[:12] + bytes(size),
    }


def zstd(text: bytes) -> bytes:
    from regard.data.lines import _zstd

    return bytes(_zstd("").compress(text))


def table_of(size: int, kind: str) -> pyarrow.Table:
    import pyarrow

    match kind:
        case "rows":
            return pyarrow.table({"src": ["a"] * (size // 10), "tgt": ["b"] * (size // 10)})
        case "one text":
            return pyarrow.table({"src": ["a" * size], "tgt": ["b"]})
        case "no texts":
            return pyarrow.table({"src": [None] * size * 4, "tgt": [None] * size * 4})
        case "one text again and again":
            texts = pyarrow.array(["a" * size]).dictionary_encode()
            again = pyarrow.DictionaryArray.from_arrays([0] * 1000, texts.dictionary)
            return pyarrow.table({"src": again, "tgt": ["b"] * 1000})
        case "lists":
            return pyarrow.table({"src": [[["a"]] * (size // 20)], "tgt": ["b"]})
    raise AssertionError(kind)


KINDS = ("rows", "one text", "no texts", "one text again and again", "lists")


def arrow(kind: str, *, stream: bool, compression: str | None = None) -> Make:
    def make(size: int) -> bytes:
        from pyarrow import ipc

        table, sink = table_of(size, kind), io.BytesIO()
        options = ipc.IpcWriteOptions(compression=compression)
        opened = ipc.new_stream if stream else ipc.new_file
        with opened(sink, table.schema, options=options) as writer:
            writer.write_table(table)
        return sink.getvalue()

    return make


def parquet(kind: str) -> Make:
    def make(size: int) -> bytes:
        from pyarrow import parquet

        sink = io.BytesIO()
        parquet.write_table(table_of(size, kind), sink, compression="zstd")
        return sink.getvalue()

    return make


def bomb(*, stream: bool) -> Make:
    """Texts of one letter, of which some bytes stand for millions."""

    def make(size: int) -> bytes:
        import pyarrow
        from pyarrow import ipc

        sink, text = io.BytesIO(), pyarrow.array(["a" * (size * 400)])
        table = pyarrow.table({"src": text, "tgt": text})
        opened = ipc.new_stream if stream else ipc.new_file
        options = ipc.IpcWriteOptions(compression="zstd")
        with opened(sink, table.schema, options=options) as writer:
            while sink.tell() < size:
                writer.write_table(table)
        return sink.getvalue()

    return make


def columns(make: Callable[[str], Make]) -> dict[str, Make]:
    import pyarrow.ipc
    import pyarrow.parquet  # noqa: F401 - what is imported already costs a loader nothing

    return {kind: make(kind) for kind in KINDS}


def tensors(table: Make) -> Make:
    """A weights file with this header."""

    def make(size: int) -> bytes:
        text = table(size)
        text += b" " * (-len(text) % 8)
        return len(text).to_bytes(8, "little") + text

    return make


EMPTY = '"{}":{{"dtype":"F32","shape":[0],"data_offsets":[0,0]}}'
HEADERS = JSON | {
    "tensors": numbered(EMPTY, "{", "}", ","),
    "axes": repeated("1,", '{"a":{"dtype":"F32","data_offsets":[0,4],"shape":[', "1]}}"),
    "notes": numbered('"{}":""', '{"__metadata__":{', "}}", ","),
    "tied": numbered('\\"{}\\":\\"a\\"', '{"__metadata__":{"regard":"1","tied":"{', '}"}}', ","),
}


def document(name: str, body: Callable[[int], dict[str, object]]) -> Make:
    """A JSON file of ours with as many entries as fit."""

    def make(size: int) -> bytes:
        entries = size // 8
        while True:
            text = json.dumps(
                {"format": name, "version": 1, **body(entries)}, separators=(",", ":")
            )
            if len(text) <= size:
                return text.encode()
            entries = entries * size // len(text) - 8

    return make


def vocabulary(kind: str, more: Callable[[int], dict[str, object]], **changes: object) -> Make:
    settings = TextSettings(kind=kind, vocabulary=1 << 18, **changes)

    def body(entries: int) -> dict[str, object]:
        found: dict[str, object] = {"pieces": [], "merges": [], "scores": [], **more(entries)}
        pieces = [*reserved(settings), *found["pieces"]]
        scores = [-1.0] * len(pieces) if kind == "unigram" else []
        return {
            "settings": settings.model_dump(mode="json"),
            **found,
            "pieces": pieces,
            "scores": scores,
        }

    return document("regard-text", body)


def chain(entries: int) -> dict[str, object]:
    """Each merge makes the last piece longer."""
    first = len(reserved(TextSettings(kind="bpe", vocabulary=1 << 18)))
    longest = 62
    pieces = [
        letter * length
        for letter in map(chr, range(0x4E00, 0x4E00 + entries // longest + 1))
        for length in range(1, longest)
    ]
    merges = [
        [first + number - number % (longest - 1), first + number - 1]
        for number in range(1, len(pieces))
        if number % (longest - 1)
    ]
    return {"pieces": pieces, "merges": merges}


VOCABULARIES = {
    "words": vocabulary("word", lambda most: {"pieces": [f"w{number}" for number in range(most)]}),
    "long words": vocabulary(
        "word", lambda most: {"pieces": [f"{number:060}" for number in range(most)]}
    ),
    "letters": vocabulary(
        "char",
        lambda most: {"pieces": [chr(0x4E00 + number) for number in range(min(most, 20_000))]},
    ),
    "unigram": vocabulary(
        "unigram", lambda most: {"pieces": [f"w{number}" for number in range(most)]}
    ),
    "long unigram": vocabulary(
        "unigram",
        lambda most: {"pieces": [f"{number:x}".rjust(8, "z") * 7 for number in range(most)]},
    ),
    "chains of merges": vocabulary("bpe", chain),
    "merges": repeated("[300,301],", '{"format":"regard-text","version":1,"merges":[', "[0,0]]}"),
}


def part_of_a_task(make: Make) -> Make:
    def whole(size: int) -> bytes:
        text = make(size * 3 // 4).decode("utf-8", "replace")
        parts = {"source": text, "target": text[:100], "shared": text, "codec": text}
        return json.dumps({"format": "regard-task", "task": "translate", "parts": parts}).encode()[
            : size * 8
        ]

    return whole


def symbols(size: int) -> bytes:
    text = ",".join(f'"<{number:08x}>"' for number in range(min(size // 13, 1_000)))
    return f'task = "translate"\n[text]\nsymbols = [{text}]\n'.encode()


def long_symbols(size: int) -> bytes:
    text = ",".join(f'"<{number:030x}>"' for number in range(size // 35))
    return f'task = "translate"\n[text]\nsymbols = [{text}]\n'.encode()


SETTINGS = TOML | {
    "symbols": symbols,
    "long symbols": long_symbols,
    "files": numbered("'{}'", "task = 'translate'\n[data]\ntrain = [", "]\n", ","),
    "unknown settings": numbered("k{}=1\n", "[train]\n"),
    "unknown groups": numbered("[train.k{}]\n"),
    "a long name": repeated("k", "", "=1\n"),
    "a long word": repeated("k", "task = '", "'\n"),
}


def zipped(
    entries: Callable[[int], Iterator[tuple[str, bytes]]], method: int = zipfile.ZIP_DEFLATED
) -> Make:
    def make(size: int) -> bytes:
        buffer = io.BytesIO()
        with warnings.catch_warnings(), zipfile.ZipFile(buffer, "w", method) as archive:
            warnings.simplefilter("ignore", UserWarning)  # one name twice is meant
            for name, content in entries(size):
                archive.writestr(name, content)
                if buffer.tell() > size:
                    break
        return buffer.getvalue()

    return make


def npy(array: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def head_of_trace(make: Make, times: int) -> Make:
    """A trace whose header holds this, `times` as long as the file that it is packed into."""
    return zipped(
        lambda size: iter([("header.npy", npy(np.frombuffer(make(size * times), np.uint8)))])
    )


def zero_trace(size: int) -> bytes:
    """A trace that would be sound, but for what it unpacks to."""
    document = TRACE.describe()
    side = int((size * 1000 / 4 / len(document["sites"])) ** 0.5)
    for name, axis in document["axes"].items():
        document["axes"][name] = axis | {
            "pieces": ["a"] * side,
            "word_ids": [0] * side,
            "words": ["a"],
        }
    arrays = {}
    for number, site in enumerate(document["sites"]):
        site["shape"] = [site["heads"], side, side]
        arrays[f"{number}.weights"] = np.zeros(site["shape"], np.float32)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header.npy", npy(np.frombuffer(json.dumps(document).encode(), np.uint8)))
        for name, array in arrays.items():
            archive.writestr(f"{name}.npy", npy(array))
    return buffer.getvalue()


TRACE = traced("rnn")
TRACES = {
    f"{name}, {times} times": head_of_trace(make, times)
    for name, make in JSON.items()
    for times in (1, 20)
} | {
    "entries": zipped(lambda size: ((f"{number}", b"") for number in count())),
    "zeros": zipped(lambda size: iter([("header.npy", npy(np.zeros(size * 900, np.uint8)))])),
    "arrays of zeros": zero_trace,
    "a preamble": zipped(
        lambda size: iter([("header.npy", b"\x93NUMPY\1\0\xff\xff" + b"(" * size)]),
        zipfile.ZIP_STORED,
    ),
    "no zip": repeated(b"PK\5\6"),
    "comments": lambda size: b"PK\5\6" + bytes(16) + b"PK\5\6" * (size // 4),
}


ARCHIVES = {
    "entries": zipped(lambda size: ((f"{number}", b"") for number in count()), zipfile.ZIP_STORED),
    "one entry": zipped(lambda size: iter([("config.toml", bytes(size))]), zipfile.ZIP_STORED),
    "one name": zipped(
        lambda size: iter([("config.toml", b"")] + [("tokenizer.json", b"")] * 5),
        zipfile.ZIP_STORED,
    ),
    "bombs": zipped(lambda size: iter([("config.toml", bytes(size * 900))])),
    "ends": repeated(b"PK\5\6" + bytes(18)),
    "beginnings": repeated(b"PK\3\4" + bytes(26)),
    "zeros": repeated(b"PK\3\4"),
}

LABELS = {
    "names": document(
        "regard-labels", lambda most: {"names": sorted(f"n{number}" for number in range(most))}
    )
}
METRICS = {
    "records": numbered('{{"step": {}, "kind": "train"}}\n'),
    "questions": repeated('{"question": "", "answer": ""}\n'),
    "objects": repeated("{}\n"),
    "lists": repeated("[],", '{"step": 1, "kind": "train", "a": [', "0]}\n"),
}
COLUMNS = {
    "columns": numbered(
        '{{"name":"c{}","kind":"ids","stored":"uint16"}}',
        '{"format":"regard-store","version":1,"rows":1,"columns":[',
        "]}",
        ",",
    ),
}
CSV = {
    "rows": repeated("a,b\n"),
    "quoted rows": repeated('"a","b"\n'),
    "an open quote": repeated("a,b\n", 'a,b\n"'),
    "an open quote with commas": repeated(",", 'a,b\n"'),
    "doubled quotes": repeated('""', 'a,b\n"', '",b\n'),
    "cells": repeated(",", "a,b\n", "\n"),
    "long records": repeated('"\n\n\n\n","b"\n', "a,b\n"),
}


def noise(size: int) -> bytes:
    """A picture whose bytes cannot be packed: the file is as large as its pixels."""
    side = int(size**0.5)
    dots = np.random.default_rng(1).integers(0, 256, (side, side, 1), np.uint8)
    return png.encode(dots)


def chunks(size: int) -> bytes:
    """A picture with as many empty chunks as fit."""
    start, end = png.encode(np.zeros((1, 1, 1), np.uint8))[:33], png._chunk(b"IEND", b"")
    return repeated(png._chunk(b"tEXt", b""), start, end)(size)


PICTURES = LINES | {
    "noise": noise,
    "chunks": chunks,
    "features": zipped(lambda size: iter([("features.npy", npy(np.zeros(size, np.float32)))])),
    "entries": zipped(lambda size: ((f"{number}", b"") for number in count())),
    "a broken JPEG": repeated(b"\xff\xd9\0", b"\xff\xd8\xff\xe0\0\x10JFIF\0\1\1\0\0\1\0\1\0\0"),
}


def hiss(size: int) -> bytes:
    """A sound whose samples are drawn: the file is as large as they are."""
    drawn = np.random.default_rng(1).uniform(-1, 1, size // 2).astype(np.float32)
    return wav.encode(wav.Clip(drawn, 8_000))


SOUNDS = LINES | {
    "hiss": hiss,
    "chunks": repeated(b"junk\0\0\0\0", b"RIFF\xff\xff\xff\x7fWAVE"),
    "a chunk without end": repeated(b"\0", b"RIFF\xff\xff\xff\x7fWAVEdata\xff\xff\xff\x7f"),
}
