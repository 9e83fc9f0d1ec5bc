"""Numbers with signatures: how good answers are, how sure that is, and how to measure it again."""

from regard.evaluate.alignment import Links, alignment_error, links
from regard.evaluate.classification import (
    ClassScore,
    accuracy,
    class_scores,
    exact_match,
    macro_f1,
    token_accuracy,
)
from regard.evaluate.comparison import Comparison, paired
from regard.evaluate.edit import character_error, edit_distance, phoneme_error, word_error
from regard.evaluate.fault import coverage, repetition
from regard.evaluate.metric import Metric
from regard.evaluate.span import span_f1, spans
from regard.evaluate.translation import bleu, chrf, judge_texts

__all__ = [
    "ClassScore",
    "Comparison",
    "Links",
    "Metric",
    "accuracy",
    "alignment_error",
    "bleu",
    "character_error",
    "chrf",
    "class_scores",
    "coverage",
    "edit_distance",
    "exact_match",
    "judge_texts",
    "links",
    "macro_f1",
    "paired",
    "phoneme_error",
    "repetition",
    "span_f1",
    "spans",
    "token_accuracy",
    "word_error",
]
