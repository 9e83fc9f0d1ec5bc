"""Builds the studio's page into a wheel or an sdist, so that installing one needs no Node."""

from __future__ import annotations

import os
import runpy
import subprocess
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class PageHook(BuildHookInterface):  # type: ignore[type-arg]
    """Runs before the files are put together. `REGARD_NO_WEB=1` leaves the page out."""

    def dependencies(self) -> list[str]:
        """Node, as a Python package, where the page must be built and this machine has no Node."""
        tools = self._tools()
        return [tools["WHEEL"]] if tools and tools["npm"]() is None else []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build the page, unless it is there already."""
        del version, build_data
        tools = self._tools()
        if tools is None:
            return
        try:
            tools["run"]("ci", "build")
        except (OSError, subprocess.CalledProcessError) as fault:
            raise RuntimeError(
                f"the studio's page could not be built: {fault}. "
                "With REGARD_NO_WEB=1 regard is installed without it, and all but the studio works."
            ) from fault

    def _tools(self) -> dict[str, Any] | None:
        """What tools/page.py offers, or None where there is nothing to build."""
        script = Path(self.root) / "tools" / "page.py"
        if os.environ.get("REGARD_NO_WEB") == "1" or not script.is_file():
            return None
        tools = runpy.run_path(str(script))
        return None if tools["is_built"]() else tools
