"""L74, L94: what the paper reports, and what follows from it."""

import pytest

from regard.worked import headline_results
from regard.worked.published_results import ENSEMBLES, SINGLE


def test_over_two_bleu_above_the_best_ensembles():  # L94
    worked = headline_results()
    assert worked["best"] == (28.4, 41.8)
    gained = worked["above the best, ensembles included"]
    assert gained[0] == pytest.approx(28.4 - max(row[0] for row in ENSEMBLES.values()))
    assert 2 < gained[0] < 2.1
    assert worked["above the best single model"][1] == pytest.approx(41.8 - 40.56)
    # 41.0, as one lecture has it, is above every single model and below the ensembles.
    assert max(row[1] for row in SINGLE.values()) < 41.0 < max(row[1] for row in ENSEMBLES.values())
    assert [slip.lecture for slip in worked.slips] == ["L94"]


def test_eight_gpus_for_three_and_a_half_days():  # L74
    worked = headline_results()
    assert worked["GPU-days"] == 28
    assert worked["a step"] == pytest.approx(1.0, abs=0.01), "1.0 seconds, as the paper says"
    assert float(worked["operations"]) == pytest.approx(2.3e19), "as in Table 2"
