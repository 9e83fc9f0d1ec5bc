import pytest
import torch
from torch.nn.attention.flex_attention import flex_attention

from regard.accelerate.attend import structured_gpu


@pytest.fixture
def compiled(monkeypatch):
    """What is handed to the compiler."""
    handed = []
    monkeypatch.setattr(torch, "compile", lambda function: handed.append(function) or "compiled")
    structured_gpu.kernel.cache_clear()
    yield handed
    structured_gpu.kernel.cache_clear()


def test_the_kernel_is_compiled_once_and_only_for_a_gpu(compiled):
    """That it equals the formula is shown in the laws."""
    assert structured_gpu.kernel(False) is flex_attention
    assert compiled == []
    assert structured_gpu.kernel(True) == structured_gpu.kernel(True) == "compiled"
    assert compiled == [flex_attention]
