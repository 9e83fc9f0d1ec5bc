"""`regard config`: presets, and any of them fully spelled out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from regard.cli import output
from regard.cli.command import command
from regard.cli.options import Changes, JsonObject, Toy


@command
def config(
    preset: Annotated[
        str | None,
        Argument(metavar="[PRESET]", help="A preset by its name. Without one, all are listed."),
    ] = None,
    file: Annotated[
        Path | None,
        Option(
            "--config", metavar="FILE", help="A TOML file of settings. It overrides the preset."
        ),
    ] = None,
    toy: Toy = None,
    changes: Changes = None,
    as_json: JsonObject = False,
) -> None:
    """List the presets, or print every setting of one with its meaning.

    What is printed is a TOML file, ready to be saved and edited:

    - `regard config bahdanau2015 > my.toml`
    - `regard train --config my.toml`
    """
    output.speak_json(as_json)
    from regard.presets import about, names

    if preset is None and file is None:
        presets = {name: about(name) for name in names()}
        if as_json:
            output.answer(presets)
            return
        from regard.show.preview import preset_list

        output.show(preset_list(presets))
        return
    from regard.config import to_toml
    from regard.run.resolve import resolve

    settings = resolve(name=preset, config=file, toy=toy, changes=changes or [])
    if as_json:
        output.answer(settings.model_dump(mode="json"))
    else:
        print(to_toml(settings, explained=True), end="")
