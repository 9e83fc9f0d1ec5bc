"""How good the model is now: loss on held-out rows, scores of its answers, and a look inside a few."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
import torch

from regard.evaluate import Metric
from regard.models import Model
from regard.run.folder import SAMPLES, Run
from regard.signals import Stop
from regard.tasks import Sight, look
from regard.train.feed import Feed
from regard.train.world import World

JUDGED = 25_000  # tokens of a batch that is judged
LONGEST = 4096  # no row that is judged is longer, or one odd line could take all the memory


@torch.inference_mode()
def held_out_loss(model: Model, feed: Feed, world: World, stop: Stop) -> float:
    """The mean loss over every validation target, each counted once on whatever process."""
    model.eval()
    total, count = 0.0, 0.0
    for batch in feed.once():
        total += float(feed.task.loss(model, batch.to(world.device)))
        count += batch.count
        if world.size == 1:
            stop.poll()
    summed, counted = world.total([total, count])
    return summed / max(1.0, counted)


def scores(run: Run, model: Model, stop: Stop) -> tuple[Metric, ...]:
    """Answers to the first validation questions, judged; greedy, since this happens often."""
    probes = run.probes()[: run.settings.train.evaluate_examples]
    if not probes:
        return ()
    decode = run.settings.decode.model_copy(update={"beam": 1, "top_beams": 1, "sample": False})
    answers = run.task.predict(
        model, [question for question, _ in probes], decode, advance=lambda _done: stop.poll()
    )
    predicted = [answer.text for answer in answers]
    return tuple(run.task.judge(predicted, [answer for _, answer in probes]))


def sights(run: Run, model: Model) -> list[Sight]:
    """The fixed sentences, answered and looked into."""
    decode = run.settings.decode.model_copy(update={"beam": 1, "top_beams": 1, "sample": False})
    return [look(run.task, model, question, decode) for question, _ in run.probes()[:SAMPLES]]


def sample_entry(step: int, question: str, sight: Sight) -> dict[str, Any]:
    """A line of samples.jsonl: sites that face the answer, weights as square-root bytes (error < 0.004)."""
    facing = [site for site in sight.sites if site.queries != "source" and site.keys == "source"]
    return {
        "step": step,
        "question": question,
        "answer": sight.prediction.text,
        "axes": {name: list(tokens) for name, tokens in sight.axes.items()},
        "sites": [
            {
                "path": site.path,
                "queries": site.queries,
                "keys": site.keys,
                "shape": list(site.weights.shape),
                "weights": base64.b64encode(_bytes(site.weights)).decode(),
            }
            for site in (facing or sight.sites)
        ],
    }


def _bytes(weights: np.ndarray) -> bytes:
    return np.rint(np.sqrt(np.clip(weights, 0, 1)) * 255).astype(np.uint8).tobytes()


def valid_feed(run: Run, world: World) -> Feed:
    """Validation rows, judged also where training leaves them out as too long."""
    settings, rows = run.settings.batch, run.store("valid")
    longest = max(int(rows.lengths(side).max(initial=1)) for side in rows.names)
    longest = max(settings.max_length, min(longest, LONGEST))
    longer = settings.model_copy(
        update={
            "max_length": longest,
            "tokens": max(min(settings.tokens, JUDGED), longest),
            "window": 1 << 16,
            "packed": False,
        }
    )
    return Feed(run.task, rows, longer, run.settings.seed, world)
