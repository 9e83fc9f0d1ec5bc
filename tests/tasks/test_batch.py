"""Examples side by side: padding on the right, lengths only where they say something."""

import numpy as np
import torch

from regard.tasks import Batch
from regard.tasks.batch import framed, lengths_of, padded, shifted

ROWS = [np.array([5, 6, 7], np.int32), np.array([8], np.int32)]


def test_rows_are_filled_up_on_the_right():
    assert padded(ROWS, 4, 9).tolist() == [[5, 6, 7, 9], [8, 9, 9, 9]]
    assert padded(ROWS, 4, 9).dtype == torch.long


def test_frames_are_filled_up_with_zeros():
    rows = [np.ones((2, 3), np.float32), np.full((1, 3), 2, np.float32)]
    box = framed(rows, 2, 3)
    assert box.shape == (2, 2, 3)
    assert box[0].eq(1).all()
    assert box[1].tolist() == [[2, 2, 2], [0, 0, 0]]


def test_lengths_are_left_out_when_every_row_is_full():
    assert lengths_of(ROWS, 3).tolist() == [3, 1]
    assert lengths_of([ROWS[0], ROWS[0]], 3) is None


def test_teacher_forcing_shifts_by_one_step():
    assert shifted(ROWS, 4, begin=1).tolist() == [[1, 5, 6, 0], [1, 0, 0, 0]]


def test_a_batch_moves_as_a_whole():
    batch = Batch.of(torch.ones(2, 3, dtype=torch.long), None, None, torch.ones(2), count=2)
    moved = batch.to(torch.device("cpu"))
    assert moved.count == 2
    assert moved.lengths is None
    assert torch.equal(moved.source, batch.source)
