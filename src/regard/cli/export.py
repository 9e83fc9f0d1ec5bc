"""`regard export`: a run for Hugging Face's library, CTranslate2 or ONNX, and proof that it is the same."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from regard.cli import output
from regard.cli.command import SAVED, command
from regard.cli.options import JsonObject
from regard.errors import UsageError, nearest

TARGETS = ("huggingface", "ctranslate2", "onnx")


@command
def export(
    model: Annotated[
        str, Argument(metavar="RUN", help="A run folder, or a model that comes with regard.")
    ],
    to: Annotated[
        str,
        Option(
            metavar="FORMAT",
            help="`huggingface`: a folder that transformers opens. `ctranslate2`: a model for its fast "
            "search on processors. `onnx`: graphs of encoder and step with attention weights.",
        ),
    ],
    out: Annotated[
        Path, Option("--out", "-o", metavar="FOLDER", rich_help_panel=SAVED, help="The new folder.")
    ],
    check: Annotated[
        Path | None,
        Option(
            metavar="FILE",
            help="A text file whose lines both models answer. Default: texts of the run's own data.",
        ),
    ] = None,
    lines: Annotated[
        int, Option(min=1, metavar="N", help="How many texts are compared, 100 by default.")
    ] = 100,
    as_json: JsonObject = False,
) -> int:
    """Take a model to another library. It is opened there and compared, and what differs is an error.

    What a format cannot hold is refused, and the setting is named. The report is printed and lies in the
    folder as `parity.json`.

    - `regard export runs/mine --to huggingface --out taken`
    - `regard export translator --to ctranslate2 --out taken-ct2`
    - `regard export runs/mine --to onnx --out graphs`
    """
    output.speak_json(as_json)
    if to not in TARGETS:
        raise UsageError(f"there is no format '{to}'", "--to", nearest(to, TARGETS))
    from regard.run.find import folder_of

    with folder_of(Path(model)) as folder:
        from regard.interop.exporting import export as exported
        from regard.interop.exporting import questions
        from regard.interop.importing import first_lines
        from regard.run.folder import Run

        run = Run.open(folder)
        texts = first_lines(check, lines) if check is not None else questions(run, lines)
        parity = exported(run, to, out, texts)  # type: ignore[arg-type]
    if output.wants_json:
        output.answer({"folder": str(out), "holds": parity.holds, **vars(parity)})
    else:
        output.say(f"{out}: {parity.architecture}")
        output.say(parity.words())
    return 0 if parity.holds else 1
