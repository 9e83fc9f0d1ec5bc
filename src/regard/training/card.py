"""The model card: what a run is, what it was trained on, and how good it is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from regard.models import build, count_parameters
from regard.run import files
from regard.run.folder import Run


def write_card(run: Run, best_step: int) -> None:
    """README.md of the run folder."""
    files.write_atomic(run.folder / "README.md", card(run, best_step).encode())


def card(run: Run, best_step: int) -> str:
    """Plain Markdown; every number comes from the run's own records."""
    settings, entries = run.settings, run.recorded("metrics")
    best = [e for e in entries if e["kind"] == "valid" and e["step"] == best_step]
    # Names alone: a card travels, and where files lay on one machine is nobody else's business.
    learned = settings.data.toy or ", ".join(Path(name).name for name in settings.data.train)
    encoder = settings.model.encoder.kind if settings.model.encoder else "no"
    lines = [
        f"# {run.folder.name}",
        "",
        f"A {settings.task} model trained with `regard`.",
        "",
        "| | |",
        "|---|---|",
        f"| task | {settings.task} |",
        _row(("learned from", learned)),
        *(_row(("started from", Path(name).name)) for name in [settings.start] if name),
        f"| examples | {len(run.store('train')):,} training, {len(run.store('valid')):,} held out |",
        f"| model | {encoder} encoder, {settings.model.reader.kind} reader |",
        f"| parameters | {count_parameters(build(settings.model, run.task.sizes)):,} |",
        f"| best step | {best_step:,} |",
        *(_row(metric) for entry in best[-1:] for metric in _metrics(entry)),
        "",
        "Scores are of greedy answers to the first held-out examples; `regard evaluate` judges a whole test",
        "set, with beam search and a signature others can compare.",
        "",
        "```",
        f"regard predict {run.folder.name} < input.txt",
        f'regard look {run.folder.name} "..."',
        "```",
        "",
        "`config.toml` holds all that decided this run; the same settings, data and seed give it again.",
    ]
    return "\n".join(lines) + "\n"


def _metrics(entry: dict[str, Any]) -> list[tuple[str, str]]:
    found = [("held-out loss", f"{entry['loss']:.4f} (perplexity {entry['perplexity']:.2f})")]
    for metric in entry["metrics"]:
        signature = f" ({metric['signature']})" if metric.get("signature") else ""
        found.append((metric["name"], f"{metric['value']:.2f}{signature}"))
    return found


def _row(metric: tuple[str, str]) -> str:
    name, value = metric
    return f"| {name} | {value.replace('|', chr(92) + '|')} |"
