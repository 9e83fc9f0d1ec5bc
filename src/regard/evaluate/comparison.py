"""Is system b better than system a, or was the test set kind to it? Paired tests, by sacrebleu."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, final

from sacrebleu.metrics.chrf import CHRF
from sacrebleu.significance import PairedTest, Result

from regard.errors import DataError
from regard.evaluate.metric import Metric
from regard.evaluate.translation import References, around, bleu_of, reference_lists

Test = Literal["bootstrap", "randomisation"]


@final
@dataclass(frozen=True)
class Comparison:
    """Two systems on the same sentences: `p_value` is how often chance alone differs this much."""

    system_a: Metric
    system_b: Metric
    p_value: float
    test: Test

    @property
    def difference(self) -> float:
        """How many points system b has more than system a."""
        return self.system_b.value - self.system_a.value

    @property
    def significant(self) -> bool:
        """Whether chance would give such a difference in fewer than 5 of 100 tries."""
        return self.p_value < 0.05

    def __str__(self) -> str:
        return (
            f"{self.system_a.name} {self.system_a.value:.2f} -> {self.system_b.value:.2f} "
            f"({self.difference:+.2f}, p = {self.p_value:.4f}, paired {self.test}) "
            f"({self.system_a.signature})"
        )

    def as_dict(self) -> dict[str, object]:
        """The comparison as JSON can hold it."""
        return {
            "system_a": self.system_a.as_dict(),
            "system_b": self.system_b.as_dict(),
            "difference": self.difference,
            "p_value": self.p_value,
            "test": self.test,
        }


def paired(
    system_a: Sequence[str],
    system_b: Sequence[str],
    references: References,
    *,
    metric: Literal["bleu", "chrf"] = "bleu",
    test: Test = "bootstrap",
    lowercase: bool = False,
    tokenize: str = "13a",
    samples: int | None = None,
) -> Comparison:
    """Score two systems and ask whether their difference could be luck.

    `bootstrap` draws test sets with replacement and sees how the difference scatters (Koehn 2004;
    1,000 draws). `randomisation` swaps the two answers of random sentences, as if the systems were
    the same, and counts how often the difference is as large (Riezler and Maxwell 2005; 10,000
    swaps): slower, and it makes fewer assumptions.
    """
    if len(system_a) != len(system_b):
        raise DataError(
            f"the systems answered different tests: {len(system_a)} and {len(system_b)} hypotheses",
            remedy="compare systems on the same sentences, in the same order",
        )
    lists = reference_lists(system_a, references)
    measure = bleu_of(lowercase, tokenize) if metric == "bleu" else CHRF(lowercase=lowercase)
    name = "BLEU" if metric == "bleu" else "chrF2"
    signatures, scores = PairedTest(
        [("a", list(system_a)), ("b", list(system_b))],
        {name: measure},
        lists,
        test_type="bs" if test == "bootstrap" else "ar",
        n_samples=samples or 0,
    )()
    signature = str(signatures[name])
    one, other = (result for result in scores[name] if isinstance(result, Result))
    assert other.p_value is not None
    # The tests count differences larger than the one seen, and so call "no difference" rare.
    p_value = float(other.p_value) if one.score != other.score else 1.0
    return Comparison(
        _as_metric(name, one, signature),
        _as_metric(name, other, signature),
        p_value=p_value,
        test=test,
    )


def _as_metric(name: str, result: Result, signature: str) -> Metric:
    mean, margin = result.mean, result.ci
    ends = None if mean is None or margin is None else around(mean, margin)
    return Metric(name, float(result.score), signature, ends)
