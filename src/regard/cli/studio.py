"""`regard studio`: trained models in the browser, with everything that happens inside them."""

from __future__ import annotations

import os
import sys
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from regard.cli import output
from regard.cli.command import command

if TYPE_CHECKING:
    from regard.studio.settings import StudioSettings

RUNS = Path("runs")
_LONGEST_TOKEN = 4096  # bytes


@command
def studio(
    runs: Annotated[
        list[Path] | None,
        Argument(
            metavar="[RUN]...",
            help="Run folders, zip archives of runs, models that come with regard, or folders of Hugging "
            "Face's. Without any, all runs in runs/ and all models that come with regard.",
        ),
    ] = None,
    host: Annotated[
        str,
        Option(
            metavar="ADDRESS",
            help="The network address to listen on. The default can be reached from this machine only.",
        ),
    ] = "127.0.0.1",
    port: Annotated[
        int, Option(metavar="N", help="The port to listen on; 0 takes any that is free.")
    ] = 8321,
    token: Annotated[
        str | None,
        Option(
            metavar="TEXT",
            help="The token that every visitor must bring. Other users of this machine can read the command "
            "line: the variable REGARD_TOKEN and --token-file keep it private. Beyond this machine the "
            "default is a random one.",
        ),
    ] = None,
    token_file: Annotated[
        Path | None, Option(metavar="FILE", help="A file whose first line is the token.")
    ] = None,
    open_browser: Annotated[
        bool, Option("--open/--no-open", help="Open the page in the browser, or do not.")
    ] = True,
    with_page: Annotated[
        bool,
        Option("--page/--no-page", help="Serve the page, or the programming interface alone."),
    ] = True,
    as_json: Annotated[
        bool, Option("--json", help="Write the address as one JSON object, for programs.")
    ] = False,
) -> int:
    """Ask a model in the browser, and see every head at work.

    Without a name it opens on your runs in `runs/` and on the models that come with regard. With neither, it
    offers to train a small model while you watch. Only this machine can reach it, unless you say otherwise
    with `--host`; then every visitor needs the token in the address.
    """
    output.speak_json(as_json)
    with ExitStack() as stack:
        named = [_unpacked(path, stack) for path in runs or ()]
        from regard.studio.server import serve
        from regard.studio.settings import StudioSettings
        from regard.studio.state import Studio, read_page

        given = _token(token, token_file)
        settings = _with_token(StudioSettings(host=host, port=port, token=given))
        page = read_page() if with_page else {}
        shown = Studio(named or _found, settings, page=page)

        def opened(real_port: int) -> None:
            _tell(settings, real_port, list(shown.shelf.names), open_browser)

        signals = serve(shown, opened)
    return 130 if signals == 2 else 0


def _found() -> list[Path]:
    """The runs of this folder, newest first, then what is in the box."""
    from regard import box

    made: list[tuple[float, Path]] = []
    for settings in RUNS.glob("*/config.toml"):
        with suppress(OSError):  # somebody removes it just now
            made.append((settings.stat().st_mtime, settings.parent))
    return [*(folder for _, folder in sorted(made, reverse=True)), *map(box.folder, box.names())]


def _unpacked(path: Path, stack: ExitStack) -> Path:
    """The folder of a run; an archive is unpacked for as long as the studio is open."""
    from regard import box
    from regard.errors import ModelFileError
    from regard.run.find import is_brought

    if not path.exists() and str(path) in box.names():
        return box.folder(str(path))
    if not path.is_dir():
        from regard.run.find import folder_of

        path = stack.enter_context(folder_of(path))
    if is_brought(path):
        return _imported(path, stack)
    if not (path / "config.toml").is_file():
        raise ModelFileError(
            "this is not a run folder: there is no config.toml",
            where=str(path),
            remedy="name a folder that `regard train` made",
        )
    return path


def _imported(path: Path, stack: ExitStack) -> Path:
    """A Hugging Face folder as a run that is there for as long as the studio is open.

    What no run can hold is looked into as it is, which needs the library it was written by.
    """
    from tempfile import TemporaryDirectory

    from regard.errors import RegardError
    from regard.interop.bring import check_folder
    from regard.interop.importing import bring_in

    place = stack.enter_context(TemporaryDirectory(prefix="regard-"))
    try:
        made = bring_in(path, Path(place) / (path.resolve().name or "imported")).folder
    except RegardError as fault:
        check_folder(path)
        output.say(f"{path.name} is opened to be looked into, by transformers: {fault.what}")
        return path
    output.say(f"imported {path.name}; `regard models import` makes a run that stays")
    return made


def _token(given: str | None, file: Path | None) -> str | None:
    """The token of the command line, of a file, or of the environment, which no child process inherits."""
    from regard.errors import UsageError

    spoken = os.environ.pop("REGARD_TOKEN", None)
    if given is not None and file is not None:
        raise UsageError("the token is given twice", "--token, --token-file", "leave out --token")
    if file is None:
        return given or spoken or None
    try:
        with file.open("rb") as opened:
            return opened.readline(_LONGEST_TOKEN).decode("utf-8").strip()
    except (OSError, UnicodeDecodeError):
        remedy = "name a file that this user can read, with the token in its first line"
        raise UsageError("the token's file cannot be read", str(file), remedy) from None


def _with_token(settings: StudioSettings) -> StudioSettings:
    import secrets

    from regard.errors import UsageError

    if settings.token is not None and (len(settings.token) < 8 or not settings.token.isascii()):
        remedy = "leave it out, and one is made up"
        raise UsageError("a token has at least 8 plain characters", "--token", remedy)
    if settings.is_local or settings.token:
        return settings
    return settings.model_copy(update={"token": secrets.token_urlsafe(24)})


def _tell(settings: StudioSettings, port: int, names: list[str], wants_browser: bool) -> None:
    address = "127.0.0.1" if settings.host in ("0.0.0.0", "::") else settings.host  # noqa: S104
    place = f"[{address}]" if ":" in address and not address.startswith("[") else address
    query = f"?token={settings.token}" if settings.token else ""
    url = f"http://{place}:{port}/{query}"
    if output.wants_json:
        output.answer({"url": url, "host": settings.host, "port": port, "runs": names})
    else:
        shown = ", ".join(names) or "nothing trained yet: the page offers a demo"
        output.say(f"regard studio: {shown}")
        print(url, flush=True)
        output.say("Ctrl-C ends it.")
    if wants_browser and not output.wants_json and _has_display():
        import webbrowser

        webbrowser.open(url)


def _has_display() -> bool:
    if sys.platform in ("darwin", "win32"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
