"""A packed training step by all our own kernels is one graph, and the step that plain torch takes.

Without a GPU the same programs run by Triton's interpreter, where it is installed: TRITON_INTERPRET=1.
"""

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
import torch

INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1" and find_spec("triton") is not None

pytestmark = [
    pytest.mark.slow,
    pytest.mark.gpu,
    pytest.mark.skipif(not (torch.cuda.is_available() or INTERPRETED), reason="needs a GPU"),
]

LEARN = """
import numpy as np
import torch
from regard.attention import Room
from regard.accelerate.attend import FORMS, PackedKernel
from regard.accelerate.stack import FusedResiduals
from regard.attention.formula import ATTEND
from regard.layers.block import STACK
from regard.models import ModelSettings, build, heads_by_site
from regard.tasks import Translate
from regard.text import Codec, TextSettings
from regard.training.step import shorten_messages
from tests.laws.test_packed import joined

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
words = Codec.train(["a b c d e f g h"] * 3, TextSettings(kind="word"))
task = Translate(words, words)
draw = np.random.default_rng(7)
rows = [
    {side: draw.integers(4, words.size, 5).astype(np.int32) for side in ("source", "target")}
    for _ in range(3)
]
batch = task.pack(joined(rows), (19, 23), Room(4, 5), 13).to(device)


def gradients(ours, dropout):
    sizes = {"width": 32, "layers": 2, "heads": 2, "feedforward": 17, "dropout": dropout}
    part = {"kind": "transformer", **sizes}
    torch.manual_seed(2)
    model = build(ModelSettings.model_validate({"encoder": part, "reader": part}), task.sizes)
    for number, heads in enumerate(heads_by_site(model).values()):  # gated, and pruned here and there
        heads.gate[0] = 0.5 - number % 3
        if number % 2:
            heads.keep([0])
    model.to(device)
    # Not by `using`, at which a compiler stops.
    kernel = PackedKernel(devices=(device.type,))
    ATTEND._own = (kernel, *FORMS[1:]) if ours else FORMS[1:]
    STACK._own = (FusedResiduals(large=0, devices=(device.type,), packed=kernel),) if ours else ()
    backend = "inductor" if device.type == "cuda" else "aot_eager"
    learn = lambda: task.loss(model, batch, 0.1)
    shorten_messages()
    learn = torch.compile(learn, fullgraph=True, backend=backend) if ours else learn
    loss = learn()
    loss.backward()
    return [loss.detach(), *(weight.grad for weight in model.parameters())]


torch.testing.assert_close(gradients(True, 0.0), gradients(False, 0.0), rtol=1e-4, atol=1e-4)
found = gradients(True, 0.3)
assert all(one.isfinite().all() for one in found)
torch.testing.assert_close(gradients(True, 0.3), found, rtol=1e-4, atol=1e-4)
print("one graph")
"""


def test_a_step_is_one_graph_and_the_step_that_torch_takes():
    """In a process of its own: no compiler can trace the shape checks that are on in this one."""
    ran = subprocess.run(
        [sys.executable, "-c", LEARN],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.stdout == "one graph\n", ran.stderr[-3000:]
