"""Look inside an answer: the trace as JSON, its matrices one head at a time as float32."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import numpy as np
from fastapi import APIRouter, Depends, Query
from fastapi import Path as InPath
from fastapi.responses import Response

from regard.studio import schema, trace_store
from regard.studio.refusal import as_json
from regard.studio.state import Studio, warm_studio
from regard.studio.trace_store import KINDS, Kind, head_of, number_of, site_of

router = APIRouter(prefix="/api/trace", tags=["trace"])
Here = Annotated[Studio, Depends(warm_studio)]
Number = Annotated[int, InPath(ge=0, le=1_000_000, description="from 0")]
Id = Annotated[str, InPath(description="of a trace, as `POST /api/trace` gave it")]
Head = Annotated[str, InPath(description="from 0, or `0+2` for a mean, or `mean` for that of all")]
Bytes: dict[int | str, dict[str, Any]] = {
    200: {"content": {"application/octet-stream": {}}, "description": "Row by row"}
}
FILES: dict[int | str, dict[str, Any]] = {
    200: {
        "content": {kind.partition(";")[0]: {} for kind in KINDS.values()},
        "description": "A file",
    }
}
LASTING = {"cache-control": "private, max-age=3600"}  # a trace never changes


@router.get("/{id}", response_model=schema.TraceAbout, summary="The same once more")
def header(id: Id, studio: Here) -> Response:
    """What `POST /api/trace` said: all but the matrices. 404 once it is forgotten."""
    from regard.traces.overview import overview

    return as_json({"id": id, **overview(studio.traces.get(id))}, headers=LASTING)


@router.get(
    "/{id}/weights/{site}/{head}",
    response_class=Response,
    responses=Bytes,
    summary="One head's matrix",
)
def weights(
    id: Id,
    site: Number,
    head: Head,
    studio: Here,
    what: Literal["weights", "scores"] = "weights",
    words: Annotated[bool, Query(description="between words, not pieces")] = False,
) -> Response:
    """Row by row, as many rows and columns as the site's `shape` says (with `words`: as its axes have words).

    Each number is a float32, little-endian, exactly as the model computed it; a score is -inf where a query
    could not look.
    """
    trace = studio.traces.get(id)
    chosen = site_of(trace, site)
    if what == "scores":
        return _raw(trace_store.as_floats(head_of(chosen.scores, head)))
    table = head_of(chosen.weights, head)
    if words:
        from regard.tasks.axis import merge

        table = merge(table[None], trace.axes[chosen.queries], trace.axes[chosen.keys])[0]
    return _raw(trace_store.as_floats(table))


@router.get(
    "/{id}/thumbnails", response_class=Response, responses=Bytes, summary="Every head at a glance"
)
def thumbnails(id: Id, studio: Here) -> Response:
    """32 x 32 bytes a head, sites and heads in order: round(sqrt(w) * 255) of each block's largest weight.

    Shades to look at, not numbers to read: `weights` has those.
    """
    sites = studio.traces.get(id).sites
    tiles = [trace_store.tile(head).tobytes() for site in sites for head in site.weights]
    return _raw(b"".join(tiles))


@router.get(
    "/{id}/neurons/{site}/{head}/{query}",
    response_model=schema.Neurons,
    summary="What each neuron adds to each score",
)
def neurons(id: Id, site: Number, head: str, query: Number, studio: Here) -> Response:
    """One query against its heaviest keys, in the order of the keys; `head` is a number here."""
    from regard.traces.overview import finite

    trace = studio.traces.get(id)
    chosen = site_of(trace, site)
    number = number_of(head, chosen.heads)
    row = number_of(str(query), chosen.weights.shape[1])
    heavy = np.argsort(-chosen.weights[number, row], kind="stable")[: studio.limits.neuron_keys]
    keys = np.sort(heavy)
    scores, bias = chosen.scores[number, row, keys], chosen.bias
    return as_json(
        {
            "query": chosen.query[number, row].tolist(),
            "places": keys.tolist(),
            "keys": chosen.key[number, keys].tolist(),
            "contributions": chosen.contributions_of(number, row)[keys].tolist(),
            "bias": None if bias is None else bias[number, row, keys].tolist(),
            "scores": [finite(score) for score in scores.tolist()],
            "weights": chosen.weights[number, row, keys].tolist(),
            "total": chosen.weights.shape[2],
            "capped": len(keys) < chosen.weights.shape[2],
        },
        headers=LASTING,
    )


@router.get("/{id}/tree", response_model=schema.TreeAbout, summary="The beam's tree")
def tree(id: Id, studio: Here) -> Response:
    """Every candidate of every step of the search; no steps where the model does not search."""
    from regard.traces.overview import candidates

    steps = candidates(studio.traces.get(id))
    return as_json({"steps": steps}, headers=LASTING)


@router.get(
    "/{id}/rollout/{layer}",
    response_class=Response,
    responses=Bytes,
    summary="Attention followed downwards",
)
def rollout(id: Id, layer: Number, studio: Here) -> Response:
    """Where each token's information comes from (Abnar 2020), down from one layer of self-attention.

    Numbers as `weights` has them. 422 for a model without self-attention.
    """
    layers = studio.traces.get(id).rollout()
    return _raw(trace_store.as_floats(layers[number_of(str(layer), len(layers))]))


@router.get("/{id}/export.{kind}", response_class=Response, responses=FILES, summary="Take it away")
def export(
    id: Id,
    kind: Kind,
    studio: Here,
    site: Annotated[
        int | None,
        Query(
            ge=0, le=1_000_000, description="else the one that best shows where the answer is from"
        ),
    ] = None,
    head: Annotated[str, Query(max_length=8, description="from 0, or `mean`")] = "mean",
) -> Response:
    """The whole trace (json, npz: docs/trace-format.md; html: a page of its own), or one map (svg, csv)."""
    from regard.studio.trace_export import write

    content = write(studio.traces.get(id), kind, site, head)
    headers = {**LASTING, "content-disposition": f'attachment; filename="attention.{kind}"'}
    return Response(content, headers=headers, media_type=KINDS[kind])


def _raw(content: bytes) -> Response:
    return Response(content, headers=LASTING, media_type="application/octet-stream")
