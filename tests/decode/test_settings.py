"""How to generate, as settings: contradictions are refused in words."""

import pytest

from regard.config import parse
from regard.decode import DecodeSettings
from regard.errors import UsageError


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        ({"beam": 2, "top_beams": 3}, "top_beams = 3 asks for more than beam = 2 follows"),
        ({"min_length": 9, "max_length": 7}, "min_length = 9 is past max_length = 7"),
        ({"beam": 0}, "beam: must be greater than 0, not 0"),
        ({"alpha": -1.0}, "alpha: must be greater than or equal to 0, not -1.0"),
        ({"top_p": 0.0}, "top_p: must be greater than 0, not 0.0"),
        ({"temperature": 0.0}, "temperature: must be greater than 0, not 0.0"),
        ({"baem": 4}, "baem: no such setting; did you mean 'beam'?"),
        ({"penalty": "gnm"}, "penalty: no 'gnm'; did you mean 'gnmt'?"),
    ],
)
def test_what_does_not_fit_is_refused(tree, message):
    with pytest.raises(UsageError) as fault:
        parse(DecodeSettings, tree, where="decode")

    assert fault.value.what == message
    assert fault.value.exit_code == 2


def test_as_many_as_are_followed_may_be_returned():
    assert parse(DecodeSettings, {"beam": 3, "top_beams": 3}).top_beams == 3
