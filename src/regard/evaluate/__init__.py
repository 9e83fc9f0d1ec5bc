"""Numbers with signatures: how good answers are, how sure that is, and how to measure it again."""

from regard.evaluate.brackets import bracket_scores
from regard.evaluate.cider import cider
from regard.evaluate.classification import (
    ClassScore,
    accuracy,
    class_scores,
    exact_match,
    macro_f1,
    span_f1,
    spans,
    token_accuracy,
)
from regard.evaluate.comparison import Comparison, paired
from regard.evaluate.error_rate import (
    Links,
    alignment_error,
    character_error,
    edit_distance,
    links,
    phoneme_error,
    word_error,
)
from regard.evaluate.metric import Metric
from regard.evaluate.rouge import rouge
from regard.evaluate.tour import tour_scores
from regard.evaluate.translation import (
    bleu,
    chrf,
    coverage,
    judge_texts,
    never_said,
    repetition,
    said_twice,
)

__all__ = [
    "ClassScore",
    "Comparison",
    "Links",
    "Metric",
    "accuracy",
    "alignment_error",
    "bleu",
    "bracket_scores",
    "character_error",
    "chrf",
    "cider",
    "class_scores",
    "coverage",
    "edit_distance",
    "exact_match",
    "judge_texts",
    "links",
    "macro_f1",
    "never_said",
    "paired",
    "phoneme_error",
    "repetition",
    "rouge",
    "said_twice",
    "span_f1",
    "spans",
    "token_accuracy",
    "tour_scores",
    "word_error",
]
