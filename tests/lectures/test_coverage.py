"""Every item of the lectures, L1 to L95, has a test here or a reason why it has none yet."""

import ast
from dataclasses import dataclass
from pathlib import Path

import pytest

from regard.worked import EXAMPLES

HERE = Path(__file__).parent
LAST = 95


@dataclass(frozen=True)
class Later:
    """Not in the library's heart: what it waits for."""

    waits_for: str


COVERAGE = {
    "L1": "test_words.py::test_one_hot_words_are_orthogonal",
    "L2": "test_words.py::test_dog_and_cat_are_alike",
    "L3": "test_words.py::test_the_two_hot_word_meets_mouse",
    "L4": "test_words.py::test_je_suis_etudiant",
    "L5": "test_words.py::test_a_word_in_two_contexts_has_two_states",
    "L6": "test_recurrent.py::test_same_weights_at_each_step",
    "L7": "test_recurrent.py::test_output_bias_and_softmax",
    "L8": "test_recurrent.py::test_the_step",
    "L9": "test_recurrent.py::test_every_right_road_to_the_gradient",
    "L10": "test_recurrent.py::test_gradients_fade_and_explode",
    "L11": "test_seq2seq.py::test_without_attention_only_the_last_state_counts",
    "L12": "test_seq2seq.py::test_with_attention_all_states_count",
    "L13": "test_seq2seq.py::test_the_decoder_step_follows_the_lecture",
    "L14": Later("trained models to measure: repetition, coverage and unknown words"),
    "L15": "test_recurrent.py::test_attention_reaches_any_distance_in_one_step",
    "L16": "test_seq2seq.py::test_encoder_and_decoder_learn_together",
    "L17": "test_scores.py::test_cosines_are_those_of_the_embedding_slide",
    "L18": "test_scores.py::test_additive_is_one_matrix_over_the_concatenation",
    "L19": "test_scores.py::test_location_is_blind_to_the_keys",
    "L20": "test_scores.py::test_score_by_its_formula",
    "L21": "test_scores.py::test_score_by_its_formula",
    "L22": "test_scores.py::test_score_by_its_formula",
    "L23": "test_scores.py::test_scalar_queries_and_keys",
    "L24": "test_scores.py::test_additive_self_attention",
    "L25": "test_attention.py::test_soft_attention_has_gradients_everywhere",
    "L26": "test_attention.py::test_hard_attention_chooses_one_and_still_learns",
    "L27": "test_attention.py::test_self_and_cross_attention",
    "L28": "test_attention.py::test_self_and_cross_attention",
    "L29": "test_attention.py::test_output_has_a_row_for_each_query",
    "L30": "test_attention.py::test_a_sharp_soft_table_is_an_exact_one",
    "L31": "test_remembering.py::test_each_word_looks_back_at_all_before_it",
    "L32": "test_attention.py::test_softmax_by_its_formula",
    "L33": "test_attention.py::test_any_other_scaling_such_as_relu",
    "L34": "test_attention.py::test_softmax_saturates_without_the_division",
    "L35": "test_attention.py::test_masked_scores_are_minus_infinity",
    "L36": "test_attention.py::test_causal_weights_share_the_past_evenly",
    "L37": "test_attention.py::test_padding_is_never_looked_at",
    "L38": "test_attention.py::test_a_range_smaller_than_the_sequence",
    "L39": "test_attention.py::test_sparse_linear_and_sliding_window",
    "L40": Later("measurements of time and memory, which bench/ holds and tests do not"),
    "L41": "test_attention.py::test_a_fully_connected_layer_grows_with_the_sequence",
    "L42": "test_positions.py::test_sinusoid_by_its_formula",
    "L43": "test_positions.py::test_i_am_a_robot",
    "L44": "test_positions.py::test_halves_are_the_same_columns",
    "L45": "test_positions.py::test_counting_exponents_from_one_loses_the_fastest_wave",
    "L46": "test_positions.py::test_learned_positions_are_n_by_d",
    "L47": "test_positions.py::test_positions_added_to_query_key_and_value",
    "L48": "test_positions.py::test_positions_added_to_the_input_are_unique",
    "L49": "test_positions.py::test_period_of_index_48",
    "L50": "test_positions.py::test_rows_of_the_fifty_wide_table",
    "L51": "test_positions.py::test_without_positions_order_is_invisible",
    "L52": "test_heads.py::test_multi_head_by_its_formula",
    "L53": "test_heads.py::test_two_heads_word_by_word",
    "L54": "test_heads.py::test_parameter_count",
    "L55": "test_heads.py::test_parameter_count",
    "L56": "test_heads.py::test_flying_arrows",
    "L57": "test_heads.py::test_two_heads_word_by_word",
    "L58": "test_heads.py::test_heads_and_widths_are_choices",
    "L59": "test_blocks.py::test_feed_forward_at_each_position",
    "L60": "test_blocks.py::test_residual",
    "L61": "test_blocks.py::test_layer_norm_without_gain",
    "L62": "test_blocks.py::test_layer_norm_with_gain_after_the_sum",
    "L63": "test_heads.py::test_scores_have_variance_d_k",
    "L64": "test_blocks.py::test_self_attention_and_feed_forward_in_turn",
    "L65": "test_blocks.py::test_dropout_only_while_training",
    "L66": "test_blocks.py::test_the_full_transformer",
    "L67": "test_attention.py::test_six_steps_of_a_readers_numbers",
    "L68": "test_attention.py::test_thinking_machines",
    "L69": "test_blocks.py::test_logits_over_ten_thousand_words",
    "L70": "test_training.py::test_an_untrained_model_guesses_evenly",
    "L71": "test_training.py::test_the_gradient_is_the_difference",
    "L72": "test_training.py::test_the_loss_table",
    "L73": "test_training.py::test_teacher_forcing_is_all_steps_at_once",
    "L74": "test_results.py::test_eight_gpus_for_three_and_a_half_days",
    "L75": "test_decoding.py::test_greedy_takes_the_best_word_each_time",
    "L76": "test_decoding.py::test_the_beam_of_two",
    "L77": "test_decoding.py::test_search_stops_at_the_end_symbol",
    "L78": "test_readers.py::test_one_tag_a_word",
    "L79": "test_readers.py::test_one_label_a_sequence",
    "L80": "test_readers.py::test_a_sequence_of_its_own_length",
    "L81": "test_answers_with_a_form.py::test_the_nearest_free_city_has_the_largest_weight",
    "L82": "test_summarising.py::test_what_no_vocabulary_holds_is_copied",
    "L83": "test_readers.py::test_frames_can_be_attended_to_as_words_can",
    "L84": "test_summarising.py::test_the_last_words_ask_and_neighbours_are_read_along",
    "L85": "test_readers.py::test_the_attention_matrix_can_be_seen",
    "L86": Later("a picture of one sentence's weights"),
    "L87": "test_scores.py::test_neurons_add_up_to_the_score",
    "L88": Later("a head view to draw, over a trained translator"),
    "L89": "test_orders.py::test_black_cat_is_inverted_and_ate_held_for_two_words",
    "L90": Later("a trained classifier to look into for keyword bias"),
    "L91": Later("the roles of heads, which trained models show"),
    "L92": "test_readers.py::test_a_pruned_head_is_a_closed_one",
    "L93": Later("position and content told apart in a trained model"),
    "L94": "test_results.py::test_over_two_bleu_above_the_best_ensembles",
    "L95": "test_answers_with_a_form.py::test_a_tree_is_a_row_of_symbols_and_has_an_f1",
}


# Behind the list of the first lectures: what a lesson of ours works out.
BEYOND = {
    "L97": "test_without_labels.py::test_what_lies_across_the_passage_is_lost",
    "L101": "test_without_labels.py::test_the_place_of_a_hidden_word_is_worked_out_from_the_others",
}


def test_no_item_is_missing():
    assert list(COVERAGE) == [f"L{number}" for number in range(1, LAST + 1)]


@pytest.mark.parametrize("item", COVERAGE | BEYOND)
def test_the_test_exists_and_names_the_item(item):
    match (COVERAGE | BEYOND)[item]:
        case Later(waits_for=reason):
            assert reason
        case place:
            file, _, name = place.partition("::")
            assert item in items_of(HERE / file, name), f"{place} does not name {item}"


def test_every_item_of_an_example_is_tested():
    for example in EXAMPLES.values():
        for item in example.lectures:
            assert isinstance((COVERAGE | BEYOND)[item], str), f"{item}: {example.title}"


def items_of(path, name):
    """The items that a test's first line names in its comment, ranges written out."""
    source = path.read_text(encoding="utf-8")
    tests = {
        node.name: node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)
    }
    assert name in tests, f"{path.name} has no {name}"
    comment = source.splitlines()[tests[name].lineno - 1].partition("#")[2]
    items = set()
    for part in comment.split(","):
        first, _, last = part.strip().partition("-")
        low = int(first[1:])
        items |= {f"L{number}" for number in range(low, int(last[1:] if last else low) + 1)}
    return items
