"""What the compiler is spared."""

import pytest

from regard.training.step import shorten_messages

pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit.script:DeprecationWarning")


class Loud:
    """Something that must not be written out."""

    def __str__(self):
        raise AssertionError("written out")


def test_an_operator_is_named_without_what_it_was_fed_by():
    shorten_messages()
    from torch._inductor.exc import MissingOperatorWithoutDecomp

    said = MissingOperatorWithoutDecomp.operator_str("regard::norm", [Loud(), Loud()], {})
    assert said == "regard::norm of 2 arguments"
