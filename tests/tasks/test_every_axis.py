"""The laws of attention over grids of pictures, frames of sounds, and several sources, each in every form.

Padding is never read, be it NaN; a batch of n is n of one; forced is stepped; saved, packed, pruned and
watched models say the same.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

import numpy as np
import pytest
import torch

from regard.attention import watch
from regard.config import parse
from regard.data.example import Captioned, Example, Several
from regard.decode import DecodeSettings
from regard.models import Model, ModelSettings, Padded, build, heads_by_site, prune_heads
from regard.models.compress import narrowed, widened
from regard.question import Image, Question
from regard.run import load, weights
from regard.tasks import TASKS, Batch, Task
from regard.text import TextSettings
from regard.traces.trace import look_inside
from tests.tasks.kit import EXAMPLES, noise, task_of

FRONT = {"kind": "front", "width": 12, "dropout": 0.0}
GRID = {**FRONT, "front": {"kind": "convolution", "channels": [4, 6], "blocks": 1}}
BLOCKS = {
    **{"kind": "transformer", "width": 12, "layers": 2, "heads": 3, "feedforward": 17},
    "dropout": 0.0,
}
SQUARES = {**BLOCKS, "position": "none", "front": {"kind": "patches", "size": 4}}
CELLS = {**FRONT, "front": {"kind": "patches", "size": 1}}
SUBSAMPLED = {**BLOCKS, "front": {"kind": "subsampling", "channels": [3, 4]}}
PYRAMID = {"kind": "rnn", "cell": "lstm", "width": 12, "layers": 3, "pyramid": 2, "dropout": 0.0}
RNN = {"kind": "rnn", "width": 12, "dropout": 0.0}
SHOWN = {**RNN, "cell": "lstm", "looks": "before"}

ONE_SOURCE = {
    "grid, recurrent": ("caption", GRID, SHOWN),
    "grid, Transformer": ("caption", GRID, BLOCKS),
    "grid, one head on top": ("caption", GRID, {**BLOCKS, "cross_heads": [3, 1]}),
    "grid, coverage": ("caption", GRID, {**RNN, "score": "coverage", "looks": "before"}),
    "grid, one place": ("caption", GRID, {**SHOWN, "normalise": "sampled"}),
    "squares, Transformer": ("caption", SQUARES, BLOCKS),
    "features, recurrent": ("features", CELLS, SHOWN),
    "features, Transformer": ("features", CELLS, BLOCKS),
    "pyramid, location-aware": (
        "transcribe",
        PYRAMID,
        {**RNN, "score": "location-aware", "input_feeding": True},
    ),
    "pyramid, Transformer": ("transcribe", PYRAMID, BLOCKS),
    "sub-sampled, Transformer": ("transcribe", SUBSAMPLED, BLOCKS),
    "sub-sampled, location-aware": ("transcribe", SUBSAMPLED, {**RNN, "score": "location-aware"}),
}
COMBINATIONS = ("flat", "parallel", "serial", "hierarchical")
SIDES = {"recurrent": RNN, "Transformer": BLOCKS}
SEVERAL = {
    f"{what}, {kind}, {combine}": (what, kind, combine)
    for what in ("three texts", "text and picture")
    for kind in SIDES
    for combine in COMBINATIONS
}
KINDS = (*ONE_SOURCE, *SEVERAL)
WITH_HEADS = [name for name in KINDS if "Transformer" in name or "on top" in name]


@dataclass(frozen=True, eq=False)
class Case:
    """A task that learned from a few examples, a model away from its first weights, and its questions."""

    task: Task
    settings: ModelSettings
    model: Model
    examples: list[Example]

    @property
    def questions(self) -> list[str]:
        return [self.task.question(one) for one in self.examples]

    @property
    def rows(self) -> list[dict[str, np.ndarray]]:
        return [dict(row) for row in self.task.rows(self.examples)]

    def batch(self, rows: list[dict[str, np.ndarray]], more: int = 0) -> Batch:
        lengths = [len(row[name]) for row in rows for name in self.task.sources]
        return self.task.collate(
            rows, max(lengths) + more, max(len(row["target"]) for row in rows) + more
        )

    def logits(self, batch: Batch) -> torch.Tensor:
        with torch.inference_mode():
            return self.task.logits(self.model, batch)


def examples_of(what: str) -> list[Example]:
    if what == "three texts":
        return [
            Several(Question({"a": "the red cat", "b": "le chat", "c": "die Katze da"}), "gatto"),
            Several(Question({"a": "a dog there", "c": "Hund"}), "un cane la"),
            Several(Question({"a": "cat", "b": "le chat rouge la", "c": "Katze"}), "gatto rosso"),
        ]
    if what == "text and picture":
        return [
            Several(Question({"en": "the red cat", "seen": Image(noise(40))}), "gatto"),
            Several(Question({"en": "a dog there is", "seen": Image(noise(24))}), "un cane la"),
            Several(Question({"en": "cat", "seen": Image(noise(60))}), "gatto rosso"),
            Several(Question({"en": "a dog"}), "cane"),
        ]
    return EXAMPLES[what]


@cache
def case(name: str) -> Case:
    torch.manual_seed(3)
    if name in SEVERAL:
        what, kind, combine = SEVERAL[name]
        examples = examples_of(what)
        task = TASKS["multisource"].learn(lambda: iter(examples), TextSettings(kind="word"))
        side = SIDES[kind]
        own = {"encoders": {"seen": GRID}} if what == "text and picture" else {}
        tree = {"encoder": side, "reader": {**side, "combine": combine}, **own}
    else:
        what, encoder, reader = ONE_SOURCE[name]
        examples, task = featured() if what == "features" else (EXAMPLES[what], task_of(what))
        tree = {"encoder": encoder, "reader": reader}
    settings = parse(ModelSettings, tree)
    model = build(settings, task.sizes).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter), alpha=0.1)
    return Case(task, settings, model, examples)


@cache
def featured() -> tuple[list[Example], Task]:
    folder = Path(mkdtemp())
    examples: list[Example] = []
    for number, text in enumerate(("a red cat", "a dog sees a cat", "night")):
        drawn = np.random.default_rng(number).standard_normal((3, 4 + 3 * number, 5))
        np.savez(folder / f"{number}.npz", drawn.astype(np.float32))
        examples.append(Captioned(str(folder / f"{number}.npz"), (text,)))
    return examples, TASKS["caption"].learn(lambda: iter(examples), TextSettings(kind="word"))


def with_padding(batch: Batch, void: float) -> Batch:
    """The same batch with this in its padding; pictures as the shares of 255 that bytes stand for."""
    sources = {}
    for name, one in batch.sources.items():
        values = one.values
        if not values.is_floating_point() and values.ndim == 3:
            values = values / 255
        values = values.clone()
        if one.lengths is not None:
            beyond = torch.arange(values.shape[1]) >= one.lengths[:, None]
            values[beyond] = void if values.is_floating_point() else int(np.nan_to_num(void, nan=4))
        sources[name] = Padded(values, one.lengths)
    return replace(batch, sources=sources)


@pytest.mark.parametrize("name", KINDS)
def test_a_batch_of_n_is_n_of_one_and_more_padding_changes_nothing(name):
    one = case(name)
    rows = one.rows
    together, wider = one.logits(one.batch(rows)), one.logits(one.batch(rows, more=13))
    assert torch.isfinite(wider).all()
    for number, row in enumerate(rows):
        count = len(row["target"])
        alone = one.logits(one.batch([row]))[0, :count]
        torch.testing.assert_close(together[number, :count], alone, rtol=1e-4, atol=1e-5)
        torch.testing.assert_close(wider[number, :count], alone, rtol=1e-4, atol=1e-5)
    assert not torch.allclose(together[0, :1], together[1, :1], atol=1e-3), "it reads nothing"


@pytest.mark.parametrize("name", KINDS)
def test_nan_in_padding_is_in_no_answer_and_no_gradient(name):
    one, found = case(name), []
    for void in (0.0, float("nan")):
        batch = with_padding(one.batch(one.rows, more=5), void)
        assert any(source.lengths is not None for source in batch.sources.values())
        torch.manual_seed(5)  # where a place is drawn
        one.model.zero_grad(set_to_none=True)
        logits = one.task.logits(one.model, batch)
        one.model.reader.loss(logits, batch.targets).backward()
        gradients = {key: p.grad for key, p in one.model.named_parameters()}
        found.append((logits.detach(), gradients))
    one.model.zero_grad(set_to_none=True)
    (clean, by_clean), (dirty, by_dirty) = found
    assert torch.isfinite(dirty).all()
    torch.testing.assert_close(dirty, clean)
    for key, gradient in by_clean.items():
        assert (gradient is None) == (by_dirty[key] is None), key
        if gradient is not None:
            assert torch.isfinite(by_dirty[key]).all(), key
            torch.testing.assert_close(by_dirty[key], gradient)


@pytest.mark.parametrize("name", KINDS)
def test_forced_is_stepped(name):
    one = case(name)
    batch = one.batch(one.rows, more=3)
    assert batch.inputs is not None
    expected = one.logits(batch)
    with torch.inference_mode():
        state = one.model.decoder.start(one.model.encode(batch.sources), batch.inputs.shape[1])
        for place, tokens in enumerate(batch.inputs.unbind(1)):
            logits, state = one.model.decoder.step(state, tokens)
            torch.testing.assert_close(logits, expected[:, place], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", KINDS)
def test_saved_and_loaded_is_the_same_to_the_bit(name, tmp_path):
    one = case(name)
    weights.write(tmp_path / "weights", one.model.state_dict(), {})
    task = type(one.task).from_dict(one.task.to_dict())
    assert task.sizes == one.task.sizes
    model = load.load(tmp_path / "weights", one.settings, task.sizes, torch.device("cpu")).eval()
    again = Case(task, one.settings, model, one.examples)
    for mine, other in zip(one.rows, again.rows, strict=True):
        assert mine.keys() == other.keys()
        assert all(np.array_equal(mine[key], other[key]) for key in mine)
    assert torch.equal(again.logits(again.batch(again.rows)), one.logits(one.batch(one.rows)))


@pytest.mark.parametrize("name", KINDS)
def test_packed_in_bytes_it_says_what_its_rounded_weights_say(name, tmp_path):
    """Alone and in company: what `regard models pack` writes is one more model that keeps the laws."""
    one = case(name)
    kept = narrowed(one.model.state_dict(), "int8")
    weights.write(tmp_path / "weights", kept, {})
    packed = load.load(tmp_path / "weights", one.settings, one.task.sizes, torch.device("cpu"))
    rounded = copy.deepcopy(one.model)
    rounded.load_state_dict(widened(kept))
    packed, rounded = (replace(one, model=model.eval()) for model in (packed, rounded))
    together = packed.logits(packed.batch(one.rows))
    assert torch.equal(together, rounded.logits(rounded.batch(one.rows)))
    assert not torch.equal(together, one.logits(one.batch(one.rows)))
    for number, row in enumerate(one.rows):
        alone = packed.logits(packed.batch([row]))[0]
        own = together[number, : len(alone)]
        torch.testing.assert_close(own, alone, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", KINDS)
def test_watched_is_unwatched_and_nothing_looks_at_padding(name):
    one = case(name)
    batch = one.batch(one.rows, more=3)
    before = one.logits(batch)
    with watch(one.model) as seen:
        watched = one.logits(batch)
    torch.testing.assert_close(watched, before, rtol=1e-5, atol=1e-6)
    with torch.inference_mode():
        encoded = one.model.encode(batch.sources)
    parts = encoded.parts or {"source": encoded}
    faced = set()
    for path in seen:
        weights, keys = seen.weights(path), seen[path][0].attention.site.keys
        assert torch.isfinite(weights).all(), path
        assert (weights >= 0).all(), path
        if keys in parts:
            faced.add(keys)
            beyond = torch.arange(weights.shape[-1]) >= parts[keys].padding.lengths[:, None]
            hidden = beyond[:, None, None].expand_as(weights)
            assert not weights[hidden].any(), path
            real = parts[keys].padding.lengths > 0
            sums = weights.sum(-1)[real]
            torch.testing.assert_close(sums, torch.ones_like(sums), atol=1e-5, rtol=0)
    assert faced == set(one.task.sources) or "flat" in name


@pytest.mark.parametrize("name", WITH_HEADS)
def test_a_pruned_model_says_what_the_gated_one_says(name, tmp_path):
    one = case(name)
    batch = one.batch(one.rows, more=3)
    remove = {
        site: [number % heads.num_heads]
        for number, (site, heads) in enumerate(heads_by_site(one.model).items())
        if heads.num_heads > 1 and not (name in SEVERAL and site.role == "cross")
    }
    small, settings = prune_heads(one.model, one.settings, remove)
    gated = copy.deepcopy(one.model)
    for site, heads in heads_by_site(gated).items():
        heads.gate[remove.get(site, [])] = 0.0
    pruned = replace(one, model=small)
    expected = replace(one, model=gated).logits(batch)
    assert not torch.allclose(expected, one.logits(batch), atol=1e-4)
    torch.testing.assert_close(pruned.logits(batch), expected, rtol=1e-4, atol=1e-5)
    weights.write(tmp_path / "weights", small.state_dict(), {})
    again = load.load(tmp_path / "weights", settings, one.task.sizes, torch.device("cpu")).eval()
    assert torch.equal(replace(one, model=again).logits(batch), pruned.logits(batch))


@pytest.mark.parametrize("name", KINDS)
def test_maps_are_those_of_the_answer_of_the_beam(name):
    """Forcing that answer through the model, away from look and search, has the weights that are drawn."""
    one = case(name)
    settings = DecodeSettings(beam=4, max_length=6, min_length=4)
    for question in one.questions:
        trace = look_inside(one.task, one.model, question, settings)
        (answer,) = one.task.predict(one.model, [question], settings)
        assert (trace.answer.ids, trace.answer.text) == (answer.ids, answer.text)
        read = one.task.encode(question)
        row = {**(read if isinstance(read, dict) else {"source": read})}
        batch = one.batch([{**row, "target": np.array(answer.ids, np.int32)}])
        with torch.inference_mode():
            encoded = one.model.encode(batch.sources)
        with watch(one.model) as seen:
            one.logits(batch)
        faced = [site for site in trace.sites if site.queries == "target"]
        assert {site.keys for site in faced} - {"sources"} == {key for key in row if len(row[key])}
        for site in faced:
            path, _, source = site.path.partition("[")
            first = 0  # of one softmax over several sources, each has its part
            for part in list(encoded.parts) if source else ():
                if part == site.keys:
                    break
                first += encoded.parts[part].states.shape[1]
            columns = site.weights.shape[2]
            assert columns == len(trace.axes[site.keys])
            weights = seen.weights(path)
            if (
                site.kind == "choice"
            ):  # every step is a row of its own there: (step, heads, 1, sources)
                weights = weights[:, :, 0].transpose(0, 1)[None]
            forced = weights[0, :, :, first : first + columns].numpy()
            drawn = site.weights[:, : forced.shape[1]]
            np.testing.assert_allclose(drawn, forced, atol=1e-4)
            assert forced.shape[1] > 1
