"""Our tokenizers as files that Hugging Face's library opens, and back: the same ids for the same text.

A text begins with one space there as here; a text that begins with a space of its own is the one exception,
since their library adds none to it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tokenizers import AddedToken, Tokenizer, decoders, pre_tokenizers, processors

from regard.errors import ModelFileError, UsageError
from regard.interop.spm import spelled
from regard.run.find import read_bounded
from regard.tasks import Task
from regard.text import BEGIN, END, PAD, Codec, TextSettings
from regard.text.settings import BROUGHT
from regard.text.vocabulary import SPECIALS, UNKNOWN, Vocabulary, reserved

SETTINGS = (
    "regard_text"  # the key in tokenizer_config.json that says how our vocabulary was learned
)
MASK = "<mask>"
_PLACES = {"pad_token": PAD, "bos_token": BEGIN, "eos_token": END, "unk_token": UNKNOWN}


def tokenizer_files(codec: Codec, template: str) -> dict[str, str]:
    """`tokenizer.json` and what stands beside it; `template` says what is put around a text: `$A </s>`."""
    tokenizer = _tokenizer(codec, template)
    settings = codec.settings
    special = {name: SPECIALS[number] for name, number in _PLACES.items()}
    if MASK in settings.symbols:
        special["mask_token"] = MASK
    document: dict[str, Any] = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        **special,
        "clean_up_tokenization_spaces": False,
        "model_input_names": ["input_ids", "attention_mask"],
        "padding_side": "right",
        "split_special_tokens": MASK not in settings.symbols,
        SETTINGS: settings.model_dump(mode="json"),
    }
    return {
        "tokenizer.json": _bare_masks(tokenizer.to_str()),
        "tokenizer_config.json": json.dumps(document, indent=1, ensure_ascii=False) + "\n",
    }


def _bare_masks(tokenizer: str) -> str:
    """A mask brings the space before it with it, as a piece would: the task reads ` <mask>` so."""
    document = json.loads(tokenizer)
    for one in document["added_tokens"]:
        one["lstrip"] = one["content"] == MASK
    return json.dumps(document, ensure_ascii=False)


def tokenizers(task: Task, codec: Codec) -> dict[str, bytes]:
    """`tokenizer.json` of what is read; where what is said has other pieces, that of them, too."""
    files = {"tokenizer.json": tokenizer_files(codec, around(task, codec))["tokenizer.json"]}
    target = getattr(task, "target", codec)
    if isinstance(target, Codec) and target.vocabulary.pieces != codec.vocabulary.pieces:
        files["target-tokenizer.json"] = tokenizer_files(target, "$A")["tokenizer.json"]
    return {name: text.encode() for name, text in files.items()}


def around(task: Task, codec: Codec) -> str:
    """What stands around a text when this task reads it: `$A </s>`; a text that is continued has `<s> $A`."""
    text = MASK if MASK in codec.settings.symbols else "a"
    read = [int(number) for number in task.encode(text)]
    if not read:
        return f"{SPECIALS[BEGIN]} $A"
    inner = codec.encode(text)
    start = next(n for n in range(len(read)) if read[n : n + len(inner)] == inner)
    before, after = read[:start], read[start + len(inner) :]
    return " ".join([*(SPECIALS[n] for n in before), "$A", *(SPECIALS[n] for n in after)])


def codec_of_task(task: Task, where: str) -> Codec:
    """The vocabulary of what it reads, or of what it continues."""
    names = ("target",) if task.reads_nothing else ("source", "target")
    codec = next((own for name in names if (own := getattr(task, name, None))), None)
    if task.features or not isinstance(codec, Codec):
        raise UsageError(
            f"the {task.name} task reads no text, and this format is for text",
            where=where,
            remedy="export a model that reads text",
        )
    return codec


def _tokenizer(codec: Codec, template: str) -> Tokenizer:
    tokenizer = codec.assembled()
    settings = codec.settings
    spaced = settings.kind not in ("byte", "char", *BROUGHT)
    if spaced:
        first = pre_tokenizers.Metaspace(replacement=" ", prepend_scheme="first", split=False)
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence([first, tokenizer.pre_tokenizer])
    tokenizer.post_processor = processors.TemplateProcessing(
        single=template,
        pair=template.replace("$A", "$A $B"),
        special_tokens=[(SPECIALS[n], n) for n in (BEGIN, END) if SPECIALS[n] in template],
    )
    match settings.kind:
        case "wordpiece":
            tokenizer.decoder = decoders.WordPiece(cleanup=False)
        case "byte-bpe":
            tokenizer.decoder = decoders.ByteLevel()
        case _:
            parts = [decoders.ByteFallback(), decoders.Fuse()]
            if spaced:
                parts.append(decoders.Strip(" ", 1, 0))
            tokenizer.decoder = decoders.Sequence(parts)
    tokenizer.add_special_tokens([AddedToken(name, normalized=False) for name in SPECIALS])
    return tokenizer


def codec_of(folder: Path) -> Codec | None:
    """The codec whose tokenizer `tokenizer_files` wrote here; None where another library made it."""
    own = _json(folder / "tokenizer_config.json").get(SETTINGS)
    if not isinstance(own, dict):
        return None
    model = _json(folder / "tokenizer.json").get("model")
    if not isinstance(model, dict):
        raise ModelFileError(
            "this tokenizer has no model", str(folder / "tokenizer.json"), "mend it"
        )
    settings = TextSettings.model_validate_json(json.dumps(own), strict=True)
    return Codec.from_json(_vocabulary(settings, model).to_json(), str(folder / "tokenizer.json"))


def _vocabulary(settings: TextSettings, model: Mapping[str, Any]) -> Vocabulary:
    known = model.get("vocab")
    if isinstance(known, list):  # pieces with their scores
        pieces = tuple(str(piece) for piece, _ in known)
        return Vocabulary(settings, pieces, (), tuple(min(0.0, float(s)) for _, s in known))
    assert isinstance(known, dict)
    pieces = tuple(sorted(known, key=known.__getitem__))
    if settings.kind == "wordpiece":
        first = len(reserved(settings))
        learned = [name[2:] if name.startswith("##") else f" {name}" for name in pieces[first:]]
        return Vocabulary(settings, (*pieces[:first], *learned))
    merges = tuple((known[a], known[b]) for a, b in map(_pair, model.get("merges") or ()))
    return Vocabulary(settings, pieces, merges)


def _pair(merge: Any) -> tuple[str, str]:
    """Two pieces of a merge, in either of the two ways in which files write them."""
    left, right = merge if isinstance(merge, list) else merge.split(" ")
    return left, right


def marian_files(source: Codec, target: Codec) -> dict[str, bytes]:
    """The files of Marian's own tokenizer, for a model that came with sentencepiece vocabularies."""
    pieces = source.vocabulary.pieces
    ids = {
        piece.replace(" ", "▁"): number for number, piece in enumerate(pieces) if number != BEGIN
    }
    config = {
        "tokenizer_class": "MarianTokenizer",
        **{name: SPECIALS[n] for name, n in _PLACES.items() if name != "bos_token"},
    }
    return {
        "vocab.json": json.dumps(ids, ensure_ascii=False).encode(),
        "source.spm": spelled(source.vocabulary),
        "target.spm": spelled(target.vocabulary),
        "tokenizer_config.json": json.dumps(config).encode(),
    }


def _json(path: Path) -> dict[str, Any]:
    if not path.is_file():
        return {}
    try:
        tree = json.loads(read_bounded(path, "tokenizer", 1 << 28))
    except (json.JSONDecodeError, UnicodeDecodeError):
        tree = None
    if not isinstance(tree, dict):
        raise ModelFileError(f"{path.name} is damaged", str(path), "get it again")
    return tree
