import torch

from regard.measure import Memory, peak_memory


def test_a_block_that_came_and_went_is_seen():
    with Memory() as memory:
        block = torch.ones(1 << 24)
        del block
        assert memory.before > 0
    with Memory() as empty:
        pass
    # Twice the first: an allocator may have kept that one, and give it again.
    with Memory() as held:
        block = torch.ones(1 << 25)
    assert held.peak >= 1 << 25
    assert empty.peak < held.peak
    assert len(block) == 1 << 25


def test_peak_memory_never_falls():
    before = peak_memory()
    block = bytearray(1 << 20)
    assert peak_memory() >= before >= len(block)
