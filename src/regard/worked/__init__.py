"""The lectures' worked examples: every step, with the slide's numbers or your own, and every slip named.

    >>> from regard.worked import EXAMPLES, flying_arrows, render
    >>> print(render(flying_arrows(x=1.0)))

Each is worked out by the library's own classes. `EXAMPLES` lists them in the lectures' order.
"""

from regard.worked.answers_with_a_form import pointed_tour, tree_in_brackets
from regard.worked.attention_by_hand import (
    painted_masks,
    score_functions,
    score_variance,
    six_steps,
    soft_table,
)
from regard.worked.likeness import word_vectors
from regard.worked.listening import listen_attend_spell
from regard.worked.multi_head import flying_arrows, parameter_count, two_heads
from regard.worked.one_block import one_block
from regard.worked.one_choice import hard_choice
from regard.worked.picture import picture_attention
from regard.worked.positions import (
    position_periods,
    position_picture,
    position_places,
    position_table,
    word_order,
)
from regard.worked.published_results import headline_results
from regard.worked.recurrence import fading_gradient, rnn_step
from regard.worked.remembering import sentinel_mixture, tape_reading
from regard.worked.render import render
from regard.worked.six_words import beam_of_two, six_word_loss
from regard.worked.summarising import copy_or_generate, summary_word
from regard.worked.through_time import backpropagation
from regard.worked.walk import decoder_step
from regard.worked.without_labels import hidden_word, narrow_passage
from regard.worked.word_orders import word_orders
from regard.worked.worked_example import Example, Slip, Step, Worked

EXAMPLES: dict[str, Example] = {
    "word-vectors": Example("Words as vectors", ("L1", "L2", "L3", "L4"), word_vectors),
    "rnn-step": Example("One step of a recurrent network", ("L6", "L7", "L8"), rnn_step),
    "backpropagation": Example("Backpropagation through time", ("L9",), backpropagation),
    "fading-gradient": Example("Gradients that fade or explode", ("L10",), fading_gradient),
    "decoder-step": Example(
        "One step of a decoder with attention", ("L11", "L12", "L13"), decoder_step
    ),
    "score-functions": Example(
        "Six score functions side by side",
        ("L17", "L18", "L19", "L20", "L21", "L22"),
        score_functions,
    ),
    "soft-table": Example("Attention as a soft table", ("L25", "L26", "L30"), soft_table),
    "tape-reading": Example("A network that reads its own memory", ("L31",), tape_reading),
    "hard-choice": Example("One choice, and its gradient", ("L26",), hard_choice),
    "painted-masks": Example("Masks", ("L35", "L36", "L37", "L38"), painted_masks),
    "position-table": Example(
        "The table of positions", ("L42", "L43", "L44", "L45", "L46"), position_table
    ),
    "position-picture": Example("The picture of positions", ("L44",), position_picture),
    "position-places": Example("Where positions are added", ("L47", "L48"), position_places),
    "position-periods": Example("The periods of positions", ("L49", "L50"), position_periods),
    "word-order": Example("Attention is blind to word order", ("L51",), word_order),
    "two-heads": Example("Two heads side by side", ("L29", "L52", "L53", "L57"), two_heads),
    "parameter-count": Example(
        "The parameters of a multi-head layer", ("L54", "L55", "L58"), parameter_count
    ),
    "flying-arrows": Example("Flying arrows", ("L56",), flying_arrows),
    "one-block": Example(
        "A Transformer block, one word",
        ("L59", "L60", "L61", "L62", "L64", "L65"),
        one_block,
    ),
    "score-variance": Example("Why scores are divided by sqrt(d_k)", ("L63",), score_variance),
    "six-steps": Example("Attention in six steps", ("L32", "L34", "L67", "L68"), six_steps),
    "six-word-loss": Example(
        "The loss over a six-word vocabulary", ("L70", "L71", "L72"), six_word_loss
    ),
    "beam-of-two": Example("Beam search with a beam of two", ("L75", "L76", "L77"), beam_of_two),
    "headline-results": Example("The paper's headline results", ("L74", "L94"), headline_results),
    "word-orders": Example("One sentence in many word orders", ("L89",), word_orders, "links"),
    "picture-attention": Example("Attention over a picture", ("L83",), picture_attention),
    "listen-attend-spell": Example("Listen, attend and spell", ("L83",), listen_attend_spell),
    "copy-or-generate": Example("A word copied or generated", ("L82",), copy_or_generate),
    "pointed-tour": Example("A round trip, pointed out", ("L81",), pointed_tour),
    "tree-in-brackets": Example("A tree as a row of brackets", ("L95",), tree_in_brackets),
    "narrow-passage": Example("A narrow passage", ("L16", "L97"), narrow_passage),
    "hidden-word": Example("A hidden word", ("L101",), hidden_word),
    "summary-word": Example("A word of a summary", ("L84",), summary_word),
    "sentinel-mixture": Example("Pointing at an earlier word, or not", ("L83",), sentinel_mixture),
}

__all__ = [
    "EXAMPLES",
    "Example",
    "Slip",
    "Step",
    "Worked",
    "backpropagation",
    "beam_of_two",
    "copy_or_generate",
    "decoder_step",
    "fading_gradient",
    "flying_arrows",
    "hard_choice",
    "headline_results",
    "hidden_word",
    "listen_attend_spell",
    "narrow_passage",
    "one_block",
    "painted_masks",
    "parameter_count",
    "picture_attention",
    "pointed_tour",
    "position_periods",
    "position_picture",
    "position_places",
    "position_table",
    "render",
    "rnn_step",
    "score_functions",
    "score_variance",
    "sentinel_mixture",
    "six_steps",
    "six_word_loss",
    "soft_table",
    "summary_word",
    "tape_reading",
    "tree_in_brackets",
    "two_heads",
    "word_order",
    "word_orders",
    "word_vectors",
]
