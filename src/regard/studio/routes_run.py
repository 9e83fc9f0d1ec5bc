"""What there is to look at: runs, their settings, and how they learned."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Query
from fastapi import Path as InPath
from fastapi.responses import Response

from regard import __version__
from regard.studio import schema
from regard.studio.refusal import as_json
from regard.studio.state import Studio, warm_studio

router = APIRouter(prefix="/api", tags=["runs"])
Here = Annotated[Studio, Depends(warm_studio)]
Name = Annotated[str, InPath(description="of a run, as `GET /api/about` lists it")]
After = Annotated[int, Query(ge=-1, le=2**62, description="only entries of later steps")]


@router.get("/about", response_model=schema.About, summary="What the studio has to show")
def about(studio: Here) -> Response:
    """The runs there are now, the built-in data, and where the demo stands. A page begins here.

    A run that is trained meanwhile is in the list when it is asked for again, behind the others.
    """
    from regard.data.toys import TOYS
    from regard.tasks.names import task_for
    from regard.tasks.verbs import TASKS
    from regard.traces.overview import task_about

    studio.look_again()
    toys = [
        {"name": toy.name, "title": toy.title, "story": toy.story, "task": task_for(toy.kind)}
        for toy in TOYS.values()
    ]
    runs = [studio.shelf.about(name) for name in studio.shelf.names]
    about = {
        "version": __version__,
        "runs": runs,
        "tasks": {name: task_about(task) for name, task in TASKS.items()},
        "toys": toys,
        "demo": studio.demo.as_dict(),
    }
    return as_json(about)


@router.get("/runs/{name}/metrics", response_model=schema.Metrics, summary="Losses and scores")
def metrics(name: Name, studio: Here, after: After = -1) -> Response:
    """The lines of the run's metrics.jsonl, as objects: `kind` train or valid, `step`, losses and scores."""
    return _lines(studio, name, "metrics", after)


@router.get("/runs/{name}/samples", response_model=schema.Samples, summary="How the map sharpened")
def samples(name: Name, studio: Here, after: After = -1) -> Response:
    """The lines of the run's samples.jsonl: the same few sentences at each evaluation, with their attention.

    Weights are base64 of float32, little-endian, of the `shape` beside them: heads, query, key.
    """
    return _lines(studio, name, "samples", after)


@router.get("/runs/{name}/settings", summary="All that decided a run")
def settings(name: Name, studio: Here) -> Response:
    """What config.toml holds, but for where its files lay; nothing where there is none (yet)."""
    if studio.shelf.is_coming(name) or studio.shelf.is_brought(name):
        return as_json({})
    tree = studio.shelf.settings(name).model_dump(mode="json")
    for role in ("train", "valid", "test"):
        paths = tree["data"][role]
        tree["data"][role] = [path.replace("\\", "/").rpartition("/")[2] for path in paths]
    return as_json(tree)


def _lines(studio: Studio, name: str, kind: str, after: int) -> Response:
    entries = studio.shelf.records(name, kind)
    newer = [entry for entry in entries if _step(entry) > after]
    return as_json({"run": name, kind: newer})


def _step(entry: dict[str, object]) -> int:
    step = entry.get("step")
    return step if isinstance(step, int) else 0
