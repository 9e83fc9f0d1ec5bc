"""`regard config`: presets, and any of them fully spelled out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from regard.cli import output
from regard.cli.main import app


@app.command()
def config(
    preset: Annotated[
        str | None, typer.Argument(help="A preset; without one, all are listed.")
    ] = None,
    file: Annotated[Path | None, typer.Option("--config", help="A TOML file of settings.")] = None,
    toy: Annotated[str | None, typer.Option(help="With this toy as data.")] = None,
    changes: Annotated[
        list[str] | None, typer.Option("--set", "-s", help="Change one setting: `train.steps=500`.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="As a JSON object.")] = False,
) -> None:
    """List the presets, or show every setting of one, and what it means.

    What a preset, a file and --set come to, ready to be saved and edited:

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
