import subprocess
import sys

from regard.measure import peak_memory

# In a process of its own: what other tests leave behind may be let go of at any moment, and that counts too.
HELD = """
import torch
from regard.measure import Memory

torch.set_num_threads(1)
with Memory() as empty:
    pass
with Memory() as held:
    block = torch.ones(1 << 25)
with Memory() as after:
    pass
print(empty.before, empty.peak, held.peak, after.before)
"""


def test_a_block_is_seen_while_it_is_held():
    command = [sys.executable, "-c", HELD]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    before, empty, held, later = map(int, shown.split())
    most = 4 * 0.9 * (1 << 25)  # a system may count its pages a little late
    assert before > 0
    assert empty < most < held
    assert later > before + most


def test_peak_memory_never_falls():
    before = peak_memory()
    block = bytearray(1 << 20)
    assert peak_memory() >= before >= len(block)
