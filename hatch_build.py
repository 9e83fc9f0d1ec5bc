"""Builds the studio's page into the package, so that whoever installs it needs no Node."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PAGE = Path("src/regard/studio/page/index.html")


class PageHook(BuildHookInterface):  # type: ignore[type-arg]
    """Runs before a wheel or an sdist is put together; an editable install builds the page when you do."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build the page if it is not there. Without Node, say so and go on: the server can do without."""
        del build_data
        web = Path(self.root) / "web"
        skipped = os.environ.get("REGARD_NO_WEB") == "1" or version == "editable"
        if skipped or (Path(self.root) / PAGE).is_file() or not (web / "package.json").is_file():
            return
        npm = shutil.which("npm")
        if npm is None or shutil.which("node") is None:
            self.app.display_warning(
                "The studio's page is left out: building it needs Node 20 or newer, and there is none here. "
                "Everything else works; REGARD_NO_WEB=1 says that this is meant."
            )
            return
        for command in (["ci"], ["run", "build"]):
            subprocess.run([npm, *command], cwd=web, check=True)  # noqa: S603
        if not (Path(self.root) / PAGE).is_file():
            raise FileNotFoundError(f"`npm run build` made no {PAGE}")
