"""How far gradients reach: against finite differences, and by closed form where one is known."""

from itertools import islice

import pytest
import torch

from regard.data.toys import toy
from regard.errors import UsageError
from regard.run.folder import Run
from regard.traces.gradient_reach import embedded_leaf, jacobian_norms, mean_reach
from tests.run import kinds


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    place = tmp_path_factory.mktemp("reach")

    def get(kind):
        folder = place / kind
        run = Run.open(folder if folder.exists() else kinds.make(folder, kind))
        return run.task, run.load_model().double().eval(), list(
            islice(toy(kinds.KINDS[kind][0]).examples("test"), 3)
        )  # fmt: skip

    return get


@pytest.mark.parametrize("kind", ["rnn", "rnn-before", "transformer"])
def test_every_norm_is_that_of_finite_differences(made, kind):
    """Each number of each embedded symbol moved a little in both directions, in float64."""
    task, model, examples = made(kind)
    row = task.rows(examples[:1])[0]
    batch = task.collate([row], len(row["source"]), len(row["target"]))
    norms = jacobian_norms(task, model, [row])[0]
    encoder, plain, step = model.encoder, model.encoder.embed, 1e-5
    base = plain(batch.source, None).states[0].detach()

    def logits(states):
        from dataclasses import replace

        encoder.embed = lambda source, padding: replace(plain(source, padding), states=states[None])
        try:
            with torch.no_grad():
                found = task.logits(model, batch)[0]
        finally:
            del encoder.embed
        return found.gather(-1, batch.targets[0, :, None]).squeeze(-1)

    for place in range(len(base)):
        columns = []
        for unit in range(base.shape[1]):
            moved = torch.zeros_like(base)
            moved[place, unit] = step
            columns.append((logits(base + moved) - logits(base - moved)) / (2 * step))
        expected = torch.stack(columns, -1).norm(dim=-1)
        torch.testing.assert_close(norms[:, place], expected, rtol=1e-5, atol=1e-8)


def test_a_row_has_the_same_norms_in_any_company(made):
    task, model, examples = made("rnn")
    rows = task.rows(examples)
    together = jacobian_norms(task, model, rows)
    for number, row in enumerate(rows):
        alone = jacobian_norms(task, model, [row])[0]
        shape = len(row["target"]), len(row["source"])
        torch.testing.assert_close(together[number, : shape[0], : shape[1]], alone)


def test_distances_count_the_states_on_the_recurrent_way(made):
    """n source positions and m steps: distance k has min(k, n, m, n + m - k) pairs, from 1 to n + m - 1."""
    task, model, examples = made("rnn")
    row = task.rows(examples[:1])[0]
    n, m = len(row["source"]), len(row["target"])
    found = mean_reach(task, model, examples[:1])
    counts = {distance: count for distance, (_, count) in found.items()}
    assert counts == {k: min(k, n, m, n + m - k) for k in range(1, n + m)}
    norms = jacobian_norms(task, model, [row])[0]
    # The first step is nearest to the last position, the last step farthest from the first.
    assert found[1][0] == pytest.approx(float(norms[0, n - 1]))
    assert found[n + m - 1][0] == pytest.approx(float(norms[m - 1, 0]))


def test_a_source_that_is_not_read_has_no_gradient(made):
    """Without attention and with a bridge of zeros, nothing of the source reaches the answer."""
    task, model, examples = made("rnn")
    reader = model.reader
    with torch.no_grad():
        for bridge in reader.bridge:
            bridge.weight.zero_()
        reader.readout.weight[:, reader.width :] = 0
    found = mean_reach(task, model, examples)
    assert all(mean == 0 for mean, _ in found.values())


def test_the_encoder_is_left_as_it_was(made):
    task, model, examples = made("rnn")
    with embedded_leaf(model.encoder), pytest.raises(RuntimeError):
        raise RuntimeError
    assert "embed" not in vars(model.encoder)
    jacobian_norms(task, model, task.rows(examples))
    assert all(parameter.grad is None for parameter in model.parameters())


@pytest.mark.parametrize("kind", ["tag", "language"])
def test_models_that_do_not_read_and_then_write_are_refused(made, kind):
    task, model, examples = made(kind)
    with pytest.raises(UsageError, match="does not read one source"):
        mean_reach(task, model, examples)
