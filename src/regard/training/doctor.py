"""Is everything all right? The machine, the machinery, and a run, looked at and told one after the other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, final

from regard.run.device import choose_device
from regard.training.finding import Finding
from regard.training.health import health
from regard.training.machine import Machine, this_machine
from regard.training.trials import trials

Tell = Callable[[Machine | Finding], None]


@final
@dataclass(frozen=True)
class Diagnosis:
    """All that was found."""

    machine: Machine
    findings: tuple[Finding, ...]

    @property
    def is_well(self) -> bool:
        """Whether nothing is wrong; what is only worth knowing does not count."""
        return all(finding.state != "wrong" for finding in self.findings)

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "well": self.is_well,
            "machine": self.machine.as_dict(),
            "findings": [finding.as_dict() for finding in self.findings],
        }


def diagnose(run: Path | None = None, device: str = "auto", tell: Tell | None = None) -> Diagnosis:
    """Look at the machine, try the machinery on it, look into a run; `tell` hears all as it is found."""
    tell = tell or (lambda _known: None)
    chosen = choose_device(device)
    machine = this_machine(chosen, run if run is not None and run.is_dir() else Path.cwd())
    tell(machine)
    found = []
    for finding in chain(trials(chosen), () if run is None else health(run)):
        found.append(finding)
        tell(finding)
    return Diagnosis(machine, tuple(found))
