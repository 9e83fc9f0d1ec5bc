import json
import math

import pytest

from regard.errors import DataError
from regard.evaluate import Metric
from regard.evaluate.metric import require_parallel


def test_a_metric_prints_value_interval_and_signature():
    metric = Metric("BLEU", 41.0239, "nrefs:1|case:lc", (40.13, 41.87))
    assert str(metric) == "BLEU 41.02 [40.1, 41.9] (nrefs:1|case:lc)"
    assert str(Metric("WER", 7.5, "unit:word")) == "WER 7.50 (unit:word)"
    assert str(Metric("AER", math.nan, "n:0")) == "AER undefined (n:0)"


def test_a_metric_without_a_signature_cannot_be_made():
    with pytest.raises(AssertionError, match="BLEU without a signature"):
        Metric("BLEU", 41.0, "")


@pytest.mark.parametrize("odd", [math.nan, math.inf, -math.inf])
def test_what_is_not_finite_becomes_null(odd):
    metric = Metric("loss", odd, "n:1", (odd, 3.0), higher_is_better=False)
    assert json.loads(json.dumps(metric.as_dict(), allow_nan=False)) == {
        "name": "loss",
        "value": None,
        "interval": [None, 3.0],
        "signature": "n:1",
        "higher_is_better": False,
    }


def test_lists_that_do_not_pair_up_are_refused_with_both_counts():
    with pytest.raises(DataError) as caught:
        require_parallel(["a", "b"], ["a", "b", "c"], "hypotheses and references")
    assert (
        caught.value.what == "hypotheses and references do not pair up: 2 hypotheses, 3 references"
    )
    assert caught.value.remedy == "give one prediction for each reference, in the same order"


def test_nothing_to_compare_is_refused():
    with pytest.raises(DataError, match="there is nothing to compare: 0 hypotheses, 0 references"):
        require_parallel([], [], "hypotheses and references")
