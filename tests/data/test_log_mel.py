"""Log-mel features against a float64 reference in plain loops, and what they say about a pure tone."""

import cmath
import math

import numpy as np
import pytest
import torch

from regard.data.log_mel import filters, levelled, log_mel, mel, size_of
from regard.errors import UsageError

RATE, WINDOW, HOP, BANDS = 2_000, 50, 20, 5


def by_hand(samples):
    """ln sum_f filter_b(f) |sum_n w_n x_n e^(-2 pi i f n / N)|^2, from the definitions alone."""
    size = size_of(WINDOW)
    edges = [700 * (10 ** (mel(RATE / 2) * n / (BANDS + 1) / 2595) - 1) for n in range(BANDS + 2)]
    rows, start = [], 0
    while True:
        frame = [samples[start + n] if start + n < len(samples) else 0.0 for n in range(WINDOW)]
        frame = [x * (0.5 - 0.5 * math.cos(2 * math.pi * n / WINDOW)) for n, x in enumerate(frame)]
        row = []
        for low, middle, high in zip(edges, edges[1:], edges[2:], strict=False):
            energy = 0.0
            for f in range(size // 2 + 1):
                hertz = f * RATE / size
                share = min((hertz - low) / (middle - low), (high - hertz) / (high - middle))
                if share > 0:
                    turn = -2j * math.pi * f / size
                    value = sum(x * cmath.exp(turn * n) for n, x in enumerate(frame))
                    energy += share * abs(value) ** 2
            row.append(math.log(max(energy, 1e-10)))
        rows.append(row)
        if start + WINDOW >= len(samples):
            return np.array(rows)
        start += HOP


def features(samples, rate=RATE, dtype=torch.float32):
    tensor = torch.as_tensor(samples, dtype=dtype)
    return log_mel(tensor, rate, bands=BANDS, window=WINDOW, hop=HOP)


@pytest.mark.parametrize("length", [1, 49, 50, 51, 70, 97])
def test_every_number_is_that_of_the_reference(length):
    samples = np.random.default_rng(length).standard_normal(length) * 0.3
    expected = by_hand(samples)
    exact = features(samples, dtype=torch.float64).numpy()
    assert exact.shape == expected.shape
    np.testing.assert_allclose(exact, expected, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(features(samples).numpy(), expected, atol=2e-3)


def test_a_tone_is_loudest_in_its_own_band():
    bands = filters(BANDS, WINDOW, RATE).numpy()
    for band in range(BANDS):
        hertz = bands[:, band].argmax() * RATE / size_of(WINDOW)
        tone = np.sin(2 * np.pi * hertz * np.arange(400) / RATE)
        assert (features(tone).numpy()[2:-2].argmax(1) == band).all()


def test_levelled_features_forget_loudness_and_microphone():
    found = features(np.random.default_rng(1).standard_normal(600)).double()
    level = levelled(found)
    assert abs(float(level.mean())) < 1e-9
    assert abs(float(level.std(correction=0)) - 1) < 1e-9
    louder = found + math.log(4.0) + torch.arange(BANDS) * 0.1
    torch.testing.assert_close(levelled(louder), level)
    silence = levelled(features(np.zeros(300)))
    assert not silence.any()


def test_bands_that_would_hear_nothing_are_refused():
    with pytest.raises(UsageError, match="128 bands are too many for 1,000 samples a second"):
        filters(128, 25, 1_000)
