"""What a machine announces and what it can do are two things."""

import subprocess

import pytest
import torch

from regard.errors import UsageError
from regard.run import device


@pytest.fixture
def processor(tmp_path, monkeypatch):
    """A machine whose CPU announces these flags, and whose trial process ends with this code."""

    def pretend(flags, code):
        (tmp_path / "cpuinfo").write_text(f"flags : fpu {flags} avx2\n")
        monkeypatch.setattr(device, "_PROCESSOR", tmp_path / "cpuinfo")
        tried = []

        def run(command, **_):
            tried.append(command)
            return subprocess.CompletedProcess(command, code)

        monkeypatch.setattr(device.subprocess, "run", run)
        device.has_bfloat16.cache_clear()
        return tried

    yield pretend
    device.has_bfloat16.cache_clear()


def test_a_cpu_that_dies_of_bfloat16_is_refused_in_words(processor):
    processor("amx_bf16 amx_tile", -4)
    with pytest.raises(UsageError, match="announces bfloat16") as fault:
        device.need_bfloat16(torch.device("cpu"), "train.precision")
    assert "float32" in fault.value.remedy
    device.need_bfloat16(torch.device("cuda"), "train.precision")  # a GPU has its own


def test_a_sound_cpu_is_tried_once_and_one_without_amx_never(processor):
    tried = processor("amx_bf16", 0)
    assert device.has_bfloat16()
    assert device.has_bfloat16()
    assert len(tried) == 1
    assert processor("avx512f", -4) == []
    assert device.has_bfloat16()
