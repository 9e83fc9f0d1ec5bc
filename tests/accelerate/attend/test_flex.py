import pytest
import torch
from torch.nn.attention.flex_attention import flex_attention

from regard.accelerate.attend import flex


@pytest.fixture
def compiled(monkeypatch):
    """What is handed to the compiler."""
    handed = []
    monkeypatch.setattr(torch, "compile", lambda function: handed.append(function) or "compiled")
    flex.kernel.cache_clear()
    yield handed
    flex.kernel.cache_clear()


def test_the_kernel_is_compiled_once_and_only_for_a_gpu(compiled):
    """That it equals the formula is shown in the laws."""
    assert flex.kernel(False) is flex_attention
    assert compiled == []
    assert flex.kernel(True) == flex.kernel(True) == "compiled"
    assert compiled == [flex_attention]
