"""Two passes should agree: the symmetric divergence, and the loss of a pair of passes."""

import pytest
import torch
import torch.nn.functional as F
from torch.testing import assert_close

from regard.data.example import Pair
from regard.models import ModelSettings, build
from regard.models.readers import Reader, disagreement
from regard.tasks import Translate
from regard.text import Codec, TextSettings
from tests.tasks.kit import batch_of, model_of, task_of


def test_divergence_in_both_directions():
    torch.manual_seed(1)
    one, other = torch.randn(2, 3, 5, 7, dtype=torch.float64)
    targets = torch.randint(7, (3, 5))
    targets[1] = -100
    judged = [0, 2]
    p, q = (logits[judged].log_softmax(-1) for logits in (one, other))
    both = [F.kl_div(b, a, reduction="sum", log_target=True) for a, b in ((p, q), (q, p))]
    assert_close(disagreement(one, other, targets), sum(both))


def test_what_neither_can_say_is_no_disagreement():
    logits = torch.randn(2, 1, 5, dtype=torch.float64)
    logits[..., 3] = -torch.inf
    one, other = (row.clone().requires_grad_() for row in logits)
    found = disagreement(one, other, torch.tensor([0]))
    found.backward()
    assert found > 0
    assert one.grad.isfinite().all()
    assert other.grad.isfinite().all()


@pytest.mark.parametrize("dropout", [0.0, 0.5])
def test_passes_that_agree_cost_what_one_costs(dropout):
    words = Codec.train(["a b c d e"] * 3, TextSettings(kind="word"))
    task = Translate(words, words)
    part = {
        "kind": "transformer",
        "width": 6,
        "layers": 1,
        "heads": 2,
        "feedforward": 7,
        "dropout": dropout,
    }
    torch.manual_seed(0)
    model = build(ModelSettings.model_validate({"encoder": part, "reader": part}), task.sizes)
    rows = task.rows([Pair("a b c", "c b"), Pair("d", "e e a")])
    batch = task.collate(rows, 5, 5)
    one, two = task.loss(model, batch, 0.1), task.loss_of_two(model, batch, 0.1, 5.0)
    alike = torch.isclose(one, two, rtol=1e-5)
    assert alike if dropout == 0.0 else not alike


def test_a_reader_owns_its_loss(monkeypatch):
    """What a reader says of its own output is what training minimises, on every path."""
    task, model = task_of("translate"), model_of("transformer")
    batch = batch_of("translate")
    plain = task.loss(model, batch)

    def double(self, output, targets, smoothing=0.0):
        return 2 * Reader.loss(self, output, targets, smoothing)

    monkeypatch.setattr(type(model.reader), "loss", double)
    assert_close(task.loss(model, batch), 2 * plain)
    assert_close(task.loss_of_two(model, batch, 0.0, 0.0), 2 * plain)


def test_a_pointer_smooths_no_place_that_is_taken():
    task, model = task_of("point"), model_of("point")
    batch = batch_of("point")
    plain = task.loss(model, batch)
    assert_close(task.loss(model, batch, 0.1), plain)
    assert_close(task.loss_of_two(model, batch, 0.1, 0.0), plain)
