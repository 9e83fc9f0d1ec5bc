"""The seams themselves: which forms are asked, for whom, and for how long."""

import subprocess
import sys
from contextvars import copy_context
from threading import Thread

import pytest
import torch

import regard
from regard.accelerate import attend, stack, vocabulary_loss
from regard.accelerate.cuda_graph import RecordedSearch, training_step
from regard.accelerate.stack import FusedResiduals
from regard.attention import formula
from regard.attention.formula import ATTEND
from regard.decode import SEARCH, DecodeSettings, search
from regard.layers.block import STACK
from regard.models.readers import LOSS
from regard.seams import Seam, is_reference, using
from regard.training.step import STEP
from tests.models.zoo import example_of, fresh

SEAMS = {"attend": ATTEND, "stack": STACK, "loss": LOSS, "search": SEARCH, "step": STEP}


def test_every_seam_has_the_forms_of_its_room():
    assert ATTEND.forms() == attend.FORMS
    assert STACK.forms() == stack.FORMS
    assert LOSS.forms() == vocabulary_loss.FORMS
    assert STEP.forms() == training_step.FORMS
    assert [type(form) for form in SEARCH.forms()] == [RecordedSearch]
    assert all(seam.name == name for name, seam in SEAMS.items())


def test_the_reference_asks_nobody_and_afterwards_all_are_asked_again():
    assert not is_reference()
    with regard.reference():
        assert is_reference()
        assert not any(seam.forms() for seam in SEAMS.values())
        with regard.reference():
            assert is_reference()
        assert not any(seam.forms() for seam in SEAMS.values())
    assert not is_reference()
    assert all(seam.forms() for seam in SEAMS.values())


def test_the_reference_ends_with_an_error_too():
    with pytest.raises(ZeroDivisionError), regard.reference():
        raise ZeroDivisionError
    assert not is_reference()
    assert ATTEND.forms() == attend.FORMS


class Elsewhere(formula.AttendForm):
    """Works where nothing of ours is."""

    devices = ("meta",)

    def takes(self, attention, query, memory, mask):
        raise AssertionError("asked")

    attend = takes


def test_a_form_for_other_devices_is_not_asked():
    states = torch.randn(1, 1, 3, 2)
    attention = regard.Attention("dot")
    with using(attend=[Elsewhere()]):
        context = attention(states, attention.remember(states, states))
    assert context.shape == states.shape


def test_chosen_forms_are_asked_and_others_stay():
    with using(attend=["a", "b"]):
        assert ATTEND.forms() == ("a", "b")
        assert STACK.forms() == stack.FORMS
        with using(stack=["c"]):
            assert (ATTEND.forms(), STACK.forms()) == (("a", "b"), ("c",))
            with using(attend=[]):
                assert (ATTEND.forms(), STACK.forms()) == ((), ("c",))
        with regard.reference():
            assert ATTEND.forms() == ()
            with using(stack=["d"]):
                assert (ATTEND.forms(), STACK.forms()) == ((), ("d",))
                assert is_reference()
        assert not is_reference()
    assert ATTEND.forms() == attend.FORMS


def test_another_thread_is_not_concerned():
    seen = []
    with regard.reference():
        threads = [Thread(target=lambda: seen.append(ATTEND.forms()))]
        inside = copy_context()  # which a thread may be given
        threads += [Thread(target=inside.run, args=(lambda: seen.append(ATTEND.forms()),))]
        for thread in threads:
            thread.start()
            thread.join()
    assert seen == [attend.FORMS, ()]


def test_a_seam_is_loaded_when_it_is_first_asked():
    """Nothing has to be switched on, and nothing below `accelerate` imports it."""
    program = (
        "import sys, torch, regard.attention, regard.models, regard.decode, regard.training.step\n"
        "assert not any(name.startswith('regard.accelerate') for name in sys.modules)\n"
        "from regard.attention.formula import ATTEND\n"
        "regard.attention.attend(*torch.randn(3, 5, 2))\n"
        "assert ATTEND.forms() == sys.modules['regard.accelerate.attend'].FORMS != ()\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_a_seam_without_a_room_says_so():
    with pytest.raises(ModuleNotFoundError):
        Seam("nowhere", "nowhere").forms()


@pytest.mark.parametrize("name", ["transformer-pre-sinusoidal", "rnn-additive-after"])
def test_models_say_the_same_by_their_formulas(name):
    """To 1e-10 in float64: what the forms round otherwise is far below."""
    model, example = fresh(name).double(), example_of(name)
    settings = DecodeSettings(beam=3, top_beams=2, max_length=7)
    with torch.inference_mode():
        answers = [search(model.decoder, model.encode(example.source, example.lengths), settings)]
        with regard.reference():
            encoded = model.encode(example.source, example.lengths)
            answers += [search(model.decoder, encoded, settings)]
    for one, other in zip(*answers, strict=True):
        assert [h.tokens for h in one] == [h.tokens for h in other]
        assert [h.score for h in one] == pytest.approx([h.score for h in other], rel=1e-10)


def test_a_stack_that_nobody_takes_goes_block_by_block():
    name = "transformer-pre-sinusoidal-tag"
    model, source = fresh(name), example_of(name).source
    called = []
    for block in model.encoder.blocks:
        block.register_forward_hook(lambda *_: called.append(1))
    with using(stack=[FusedResiduals()]):
        model.encode(source)
    assert len(called) == len(list(model.encoder.blocks))
