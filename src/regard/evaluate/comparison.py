"""Is system b better than system a, or was the test set kind to it? Paired tests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, final

import numpy as np
from numpy.typing import NDArray

from regard.errors import DataError
from regard.evaluate.metric import SEED, Metric, require_parallel
from regard.evaluate.translation import References, around, bleu_of, chrf_of, reference_lists

if TYPE_CHECKING:
    from sacrebleu.metrics.bleu import BLEU
    from sacrebleu.metrics.chrf import CHRF
    from sacrebleu.significance import Result

Test = Literal["bootstrap", "randomisation"]
SWAPS = 10_000
TIE = 1e-9  # of a point: less is the rounding of a sum
_CHUNK = 1 << 22  # swaps held in memory at a time


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
    test: Test = "randomisation",
    lowercase: bool = False,
    tokenize: str = "13a",
    samples: int | None = None,
) -> Comparison:
    """Score two systems and ask whether their difference could be luck.

    `randomisation` swaps the two answers of random sentences, as if the systems were the same, and counts how
    often the difference is at least as large (Riezler and Maxwell 2005; 10,000 swaps). `bootstrap` draws test
    sets with replacement and sees how the difference scatters (Koehn 2004; 1,000 draws), as sacrebleu does by
    default; where hardly any sentence is right it calls one lucky sentence significant.
    """
    if len(system_a) != len(system_b):
        raise DataError(
            f"the systems answered different tests: {len(system_a)} and {len(system_b)} hypotheses",
            remedy="compare systems on the same sentences, in the same order",
            where="system_b",
        )
    lists = reference_lists(system_a, references)
    measure = bleu_of(lowercase, tokenize) if metric == "bleu" else chrf_of(lowercase, 0)
    name = "BLEU" if metric == "bleu" else "chrF2"
    compared = _swapped if test == "randomisation" else _drawn
    return compared(name, measure, (list(system_a), list(system_b)), lists, samples)


def _drawn(
    name: str,
    measure: BLEU | CHRF,
    systems: Sequence[list[str]],
    references: Sequence[Sequence[str]],
    samples: int | None,
) -> Comparison:
    """The bootstrap, by sacrebleu."""
    from sacrebleu.significance import PairedTest, Result

    named: list[tuple[str, Sequence[str]]] = list(zip(("a", "b"), systems, strict=True))
    signatures, scores = PairedTest(
        named, {name: measure}, references, test_type="bs", n_samples=samples or 0
    )()
    one, other = (result for result in scores[name] if isinstance(result, Result))
    assert other.p_value is not None
    # The test counts differences larger than the one seen, and so calls "no difference" rare.
    p_value = float(other.p_value) if one.score != other.score else 1.0
    signature = str(signatures[name])
    before, after = (_as_metric(name, result, signature) for result in (one, other))
    return Comparison(before, after, p_value, "bootstrap")


def paired_counts(
    system_a: Metric, system_b: Metric, right_a: Sequence[int], right_b: Sequence[int]
) -> Comparison:
    """Were the systems the same, any answer could be either's (Riezler and Maxwell 2005).

    `right_a` and `right_b` count what each system got right in each sentence. p is how often, over 10,000
    random swaps, the totals differ at least as much as they do; the answers as they are count as one swap.
    """
    require_parallel(right_a, right_b, "counts of a and counts of b")
    differences = np.asarray(right_b, np.int64) - np.asarray(right_a, np.int64)
    differences = differences[differences != 0]  # to swap equals changes nothing
    observed = abs(int(differences.sum()))
    generator = np.random.default_rng(SEED)
    as_large, chunk = 0, max(1, _CHUNK // max(1, len(differences)))
    for start in range(0, SWAPS, chunk):
        shape = (min(chunk, SWAPS - start), len(differences))
        totals = (2 * generator.integers(0, 2, shape) - 1) @ differences
        as_large += int((np.abs(totals) >= observed).sum())
    p_value = (as_large + 1) / (SWAPS + 1)
    return Comparison(system_a, system_b, p_value, "randomisation")


def _swapped(
    name: str,
    measure: BLEU | CHRF,
    systems: Sequence[Sequence[str]],
    references: Sequence[Sequence[str]],
    samples: int | None,
) -> Comparison:
    """The randomisation test by sacrebleu's statistics and draws; differences as large as the one seen count.

    sacrebleu counts larger ones alone: one lucky sentence among zeros, which no swap can make luckier, would
    have p = 0.0001.
    """
    swaps = samples or SWAPS
    stats_a, stats_b = (
        np.asarray(measure._extract_corpus_statistics(system, references)) for system in systems
    )
    scores = [_score(measure, stats.sum(0)) for stats in (stats_a, stats_b)]
    observed = abs(scores[1] - scores[0])
    chosen = np.random.default_rng(SEED).integers(2, size=(swaps, len(stats_a)), dtype=bool)
    as_large = 0
    for some in np.array_split(chosen, -(-chosen.size // _CHUNK) or 1):
        swapped = some.astype(np.float64) @ (stats_a - stats_b).astype(np.float64)
        both = zip(stats_b.sum(0) + swapped, stats_a.sum(0) - swapped, strict=True)
        gaps = np.array([_score(measure, a) - _score(measure, b) for a, b in both])
        as_large += int((np.abs(gaps) >= observed - TIE).sum())
    signature = measure.get_signature()
    signature.update("seed", str(SEED))
    signature.update("ar", swaps)
    before, after = (Metric(name, score, str(signature)) for score in scores)
    return Comparison(before, after, (as_large + 1) / (swaps + 1), "randomisation")


def _score(measure: BLEU | CHRF, statistics: NDArray[Any]) -> float:
    return float(measure._compute_score_from_stats(statistics.tolist()).score)


def _as_metric(name: str, result: Result, signature: str) -> Metric:
    mean, margin = result.mean, result.ci
    ends = None if mean is None or margin is None else around(mean, margin)
    return Metric(name, float(result.score), signature, ends)
