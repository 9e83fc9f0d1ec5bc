"""A run as a folder that `transformers` opens: tensors, configuration, tokenizer and a card."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, final

import torch
from torch import Tensor

from regard.interop.bring import library_for, quiet
from regard.interop.outline import UNSAID, Outgoing
from regard.interop.to_huggingface import Written, written
from regard.interop.tokenizer_out import around, codec_of_task, marian_files, tokenizer_files
from regard.run import files, weights
from regard.run.folder import Run
from regard.text import BEGIN, PAD

REPORT = "parity.json"


def in_a_folder(leaving: Outgoing, out: Path) -> tuple[str, Callable[[], Opened]]:
    """The folder, and how transformers opens it again."""
    task = leaving.run.task
    made, codec = written(leaving), codec_of_task(task, "--to huggingface")
    documents: dict[str, bytes] = {}
    if codec.settings.kind == "sentencepiece":
        documents = marian_files(codec, task.target)  # type: ignore[attr-defined]
        made.config["decoder_start_token_id"] = made.generation["decoder_start_token_id"] = PAD
    else:
        own = tokenizer_files(codec, around(task, codec))
        documents = {name: text.encode() for name, text in own.items()}
    head = {"model_type": made.kind, "architectures": [made.architecture]}
    documents["config.json"] = (
        json.dumps(head | made.config, indent=1, ensure_ascii=False) + "\n"
    ).encode()
    if made.generation:
        documents["generation_config.json"] = (
            json.dumps(made.generation, indent=1) + "\n"
        ).encode()
    documents["README.md"] = _card(leaving.run, made, out).encode()
    layout = weights.lay_out(made.tensors, {"format": "pt"})
    with files.new_folder(out, out.name, layout.size) as temporary:
        for name, content in documents.items():
            files.write_new(temporary / name, content)
        files.write_new(temporary / "model.safetensors", layout.pieces(), layout.size)
    return made.architecture, lambda: Opened(out, made)


@final
class Opened:
    """The folder as `transformers` has it."""

    def __init__(self, folder: Path, made: Written) -> None:
        library = library_for(str(folder))
        with quiet(library):
            kind = getattr(library, made.architecture)
            self.model = kind.from_pretrained(folder, local_files_only=True).eval()
        self.tokenizer: Any = None
        try:
            self.tokenizer = library.AutoTokenizer.from_pretrained(folder, local_files_only=True)
        except ImportError:  # a sentencepiece tokenizer, and its library is not there
            if made.kind != "marian":
                raise
        self.reads = bool(made.config.get("is_encoder_decoder"))
        self.writes = bool(made.generation)
        self.start = int(made.config.get("decoder_start_token_id", BEGIN))
        self.unsaid = made.generation.get("suppress_tokens", [])

    def cut(self, text: str) -> list[int] | None:
        """By its own tokenizer."""
        if self.tokenizer is None:
            return None
        return list(self.tokenizer(text)["input_ids"])

    def answer(self, source: list[int], most: int) -> list[int]:
        """By `generate`, one hypothesis."""
        if not self.writes:
            return self.chances(source, []).argmax(-1).tolist()
        given = torch.tensor([source if self.reads else [BEGIN, *source]])
        ids = self.model.generate(
            given,
            attention_mask=torch.ones_like(given),
            num_beams=1,
            do_sample=False,
            max_length=most + (1 if self.reads else given.shape[1]),
        )[0].tolist()
        return ids[1:] if self.reads else ids[given.shape[1] :]

    def chances(self, source: list[int], said: list[int]) -> Tensor:
        """Forced once."""
        if not self.writes:
            logits = self.model(input_ids=torch.tensor([source])).logits
            return logits[0].reshape(-1, logits.shape[-1]).log_softmax(-1)
        if self.reads:
            forced = torch.tensor([[self.start, *said[:-1]]])
            logits = self.model(torch.tensor([source]), decoder_input_ids=forced).logits[0]
        else:
            forced = torch.tensor([[BEGIN, *source, *said[:-1]]])
            logits = self.model(forced).logits[0, len(source) :]
        logits[:, self.unsaid] += UNSAID
        return logits.log_softmax(-1)


def _card(run: Run, made: Written, out: Path) -> str:
    opener = "AutoModelForSeq2SeqLM" if made.config.get("is_encoder_decoder") else made.architecture
    return f"""# {out.name}

A model trained with regard (task: {run.task.name}), as `{made.architecture}` of transformers. Nothing but
names and the order of numbers was changed; `{REPORT}` says how far both agree.

```python
from transformers import AutoTokenizer, {opener}

tokenizer = AutoTokenizer.from_pretrained("{out.name}")
model = {opener}.from_pretrained("{out.name}")
```

What regard does around a model is not in it: cutting running text into sentences, guessing its language.
A translator of several languages is told its target in front of the text: `>>de<< Good morning.`
Beams are ranked there by the mean of log-probabilities, which is `decode.penalty = "average"` here.

"""
