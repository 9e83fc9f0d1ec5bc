"""On a GPU, learning by all that makes it fast goes as it goes by the formula, as near as one can tell."""

import pytest
import torch

from regard.data.batches import BatchSettings
from regard.models import ModelSettings, TransformerReaderSettings, TransformerSettings
from regard.seams import reference
from regard.training import train
from tests.training.kit import Ears, changed, tiny, write_corpus

pytestmark = [
    pytest.mark.slow,
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs CUDA"),
]

DEVICE = "cuda"
STEPS, WINDOW = 400, 20
PARTS = {"width": 64, "layers": 2, "heads": 4, "feedforward": 128, "dropout": 0.0}
FAST = {"precision": "bfloat16", "compile": True}
SLOW = {"precision": "float32", "compile": False, "record": False}


def curve(folder, settings):
    """Losses of steps, some at a time."""
    ears = Ears()
    train(folder, settings, device=DEVICE, listener=ears)
    losses = torch.tensor([report.loss for report in ears.of("stepped")])
    return losses.unflatten(0, (-1, WINDOW)).mean(1)


def test_the_fast_way_learns_as_the_formula_does(tmp_path, monkeypatch):
    """Packed, compiled, recorded, in bfloat16, by our own kernels; against torch's operations in float32.

    The curves of the two ways are nearer to each other than those of two seeds.
    """
    from regard.accelerate.triton import segments_launch  # which wants Triton

    settings = tiny(tmp_path, "transformer", steps=STEPS, log_every=1, rate=2e-3, warmup=40)
    settings = settings.model_copy(
        update={
            "data": write_corpus(tmp_path / "more", "translate", count=2000),
            "model": ModelSettings(
                encoder=TransformerSettings(**PARTS), reader=TransformerReaderSettings(**PARTS)
            ),
            "batch": BatchSettings(tokens=512, max_length=16, packed=True),
        }
    )
    settings = changed(settings, evaluate_every=STEPS, checkpoint_every=STEPS)
    taken, forward = [], segments_launch.forward
    monkeypatch.setattr(
        segments_launch, "forward", lambda *given: taken.append("fast") or forward(*given)
    )
    fast = curve(tmp_path / "fast", changed(settings, **FAST))
    assert taken, "else it is no comparison"
    taken.clear()

    settings = changed(settings, **SLOW)
    with reference():
        slow = curve(tmp_path / "slow", settings)
        other = curve(tmp_path / "other", settings.model_copy(update={"seed": 5}))
    assert not taken

    assert fast[-1] < 0.8 * fast[0], "it learned something"
    apart, noise = (fast - slow).abs(), (other - slow).abs()
    print(
        f"apart {apart.mean():.4f} ({apart.max():.4f}), noise {noise.mean():.4f} ({noise.max():.4f})"
    )
    assert apart.mean() < noise.mean()
    assert apart.max() < noise.max()
