"""Trees as symbols: read, cleaned, said only well-formed, and scored as EVALB scores them."""

import copy

import pytest
import torch
from torch.testing import assert_close

from regard.data.example import Parsed
from regard.data.formats.bracketed import Bracketed
from regard.data.source import understand
from regard.data.toys import toy
from regard.decode import DecodeSettings
from regard.errors import DataError
from regard.evaluate.brackets import bracket_scores, counts
from regard.tasks.search import find
from regard.text.trees import DEEPEST, cleaned, grown, linear, read_tree, read_trees
from regard.traces.trace import replayed
from tests.tasks.kit import EXAMPLES, batch_of, model_of, task_of

CAT = "(S (NP (DT the) (NN cat)) (VP (VBD sat) (PP (IN on) (NP (DT the) (NN mat)))) (. .))"


def test_a_tree_is_its_symbols_and_its_words():
    tree = read_tree(CAT)
    said = list(linear(tree))
    assert " ".join(said) == "(S (NP XX XX ) (VP XX (PP XX (NP XX XX ) ) ) XX )"
    assert list(linear(grown(said, tree.words))) == said
    assert grown(said, tree.words).words == tree.words
    assert str(read_tree(CAT)) == CAT
    assert grown(said, tree.words[:-1]) is None
    assert grown(said[:-1], tree.words) is None


def test_penn_brackets_lose_traces_and_functions():
    text = "( (S (NP-SBJ-1 (PRP it)) (VP=2 (VBD ran) (NP (-NONE- *-1)))) )\n(TOP (FRAG (UH oh)))"
    first, second = (cleaned(tree) for tree in read_trees(text))
    assert str(first) == "(S (NP (PRP it)) (VP (VBD ran)))"
    assert str(second) == "(TOP (FRAG (UH oh)))"


@pytest.mark.parametrize("text", ["(S (NP (DT a)", "a (S (NN b))", "(S (NN b)))", "(" * 300])
def test_what_is_no_tree_is_said(text):
    with pytest.raises(DataError, match="this is no tree"):
        list(read_trees(text))


def test_files_of_trees_are_recognised(tmp_path):
    path = tmp_path / "wsj.mrg"
    path.write_text(f"\n( {CAT[:40]}\n{CAT[40:]} )\n( (S (NP (-NONE- *))) )\n(S (NN broken\n")
    source = understand([path])
    rows = list(source.examples())
    assert isinstance(source.parts[0], Bracketed)
    assert rows == [Parsed(("the", "cat", "sat", "on", "the", "mat", "."), CAT)]


def test_brackets_by_hand():
    """Gold has S, NP, VP, PP, NP. Said: PP under S (VP too short), one NP with another name."""
    gold = read_tree(CAT)
    said = read_tree(
        "(S (NP (XX the) (XX cat)) (VP (XX sat)) (PP (XX on) (ADJP (XX the) (XX mat))) (XX .))"
    )
    assert counts(said, gold) == (3, 5, 5)  # S, NP, PP
    f1, precision, recall, whole = bracket_scores([said, gold], [gold, gold])
    assert f1.value == precision.value == recall.value == pytest.approx(80.0)
    assert whole.value == 50.0
    assert counts(None, gold) == (0, 0, 5)


def test_punctuation_and_particles_count_as_in_evalb():
    """A comma inside or outside a phrase is the same, PRT is ADVP, TOP is nothing; equal ones count twice."""
    gold = read_tree("(TOP (S (NP (NP (NN a))) (, ,) (VP (VB b) (PRT (RP c)))))")
    said = read_tree("(S (NP (NP (XX a)) (XX ,)) (VP (XX b) (ADVP (XX c))))")
    assert counts(said, gold) == (5, 5, 5)
    assert counts(read_tree("(S (NP (XX a)) (XX ,) (XX b) (XX c))"), gold) == (2, 2, 5)


def test_whatever_a_model_would_say_it_says_a_tree():
    task, model = task_of("parse"), model_of("parse")
    texts = [example.asked for example in EXAMPLES["parse"]] + ["never seen words are words too"]
    for settings in (
        DecodeSettings(beam=1, max_length=30),
        DecodeSettings(beam=3, max_length=20),
        DecodeSettings(sample=True, max_length=25, temperature=2.0),
    ):
        for text, answer in zip(texts, task.predict(model, texts, settings), strict=True):
            assert answer.finish == "end"
            assert read_tree(answer.text).words == tuple(text.split())


def always(model, task, weights):
    """The same model, but each symbol has this logit, whatever is asked."""
    made = copy.deepcopy(model)
    output = made.reader.output
    with torch.no_grad():
        output.weight.zero_()
        output.bias = torch.nn.Parameter(torch.zeros(task.sizes.target))
        for name, weight in weights.items():
            output.bias[task.named[name]] = weight
    return made


def test_a_model_that_would_open_brackets_for_ever_says_a_tree_that_can_be_read():
    """Unary chains of six over each of 60 words, one inside the other: 360 deep, were they not held back."""
    task = task_of("parse")
    eager = always(model_of("parse"), task, {"(NP": 10.0, "XX": 5.0})
    text = " ".join(["word"] * 60)
    (answer,) = task.predict(eager, [text], DecodeSettings(beam=1, max_length=900))
    assert answer.finish == "end"
    assert read_tree(answer.text).words == tuple(text.split())
    assert read_tree(answer.text).depth == DEEPEST - 1  # tags are brackets, too


@pytest.mark.parametrize("text", ["(", ") b", "the cat ( sat )", "f(x) runs", "(NP XX )"])
def test_words_that_are_brackets_are_written_as_penn_writes_them(text):
    task = task_of("parse")
    (answer,) = task.predict(model_of("parse"), [text], DecodeSettings(beam=2, max_length=90))
    spelled = text.replace("(", "-LRB-").replace(")", "-RRB-")
    assert read_tree(answer.text).words == tuple(spelled.split())
    assert (task.encode(text) == task.encode(spelled)).all()
    assert len(task.forced(text, answer).axes["source"].pieces) == len(task.encode(text))


@pytest.mark.parametrize("text", ["", "  "])
def test_nothing_has_no_tree(text):
    (answer,) = task_of("parse").predict(model_of("parse"), [text], DecodeSettings(max_length=9))
    assert (answer.text, answer.finish) == ("", "end")


def test_forcing_sees_what_stepping_saw():
    task, model = task_of("parse"), model_of("parse")
    text = EXAMPLES["parse"][0].asked
    seen = find(task, model, text, DecodeSettings(beam=2, max_length=40))
    with torch.no_grad():
        steps = replayed(task, model, text, seen).steps
    said = [step.log_probability for step in steps]
    assert_close(
        torch.tensor(said), torch.tensor(seen.answer.log_probabilities), atol=1e-4, rtol=1e-4
    )
    assert all(step.alternatives for step in steps)


def test_a_batch_of_several_is_several_of_one():
    task, model = task_of("parse"), model_of("parse")
    texts, settings = (
        [one.asked for one in EXAMPLES["parse"]],
        DecodeSettings(beam=2, max_length=40),
    )
    together = [one.text for one in task.predict(model, texts, settings)]
    assert together == [task.predict(model, [text], settings)[0].text for text in texts]


def test_the_toy_says_its_own_trees_and_a_task_is_saved_whole():
    for example, _ in zip(toy("grammar").examples("test"), range(50), strict=False):
        assert read_tree(example.tree).words == example.words
    task = task_of("parse")
    again = type(task).from_dict(task.to_dict())
    rows = [one.rows(EXAMPLES["parse"]) for one in (task, again)]
    assert all((a["target"] == b["target"]).all() for a, b in zip(*rows, strict=True))
    assert torch.isfinite(task.loss(model_of("parse"), batch_of("parse")))
