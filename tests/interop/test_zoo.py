"""Architectures that nobody had in mind are seen as their own eager form says, or refused with a reason."""

import pytest

from regard.errors import UsageError
from tests.interop import zoo

# One of each way of working attention out: few enough for the fast tests.
FAST = ("deberta-v2", "falcon", "fsmt", "gpt-oss", "longformer", "segformer", "wavlm", "xlnet")
SEEN = [name for name in zoo.KINDS if name not in zoo.REFUSED]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "name", [pytest.param(one, marks=() if one in FAST else pytest.mark.slow) for one in SEEN]
)
def test_it_is_seen_as_its_eager_form_says(name):
    found = zoo.compared(name)
    assert found.given > 0
    assert found.seen >= found.given
    assert found.apart < 2e-6
    assert found.changed == 0


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "name",
    [pytest.param(one, marks=() if one == "fnet" else pytest.mark.slow) for one in zoo.REFUSED],
)
def test_what_has_no_attention_is_refused(name):
    with pytest.raises(UsageError, match="no attention was seen") as caught:
        zoo.compared(name)
    assert "scaled_dot_product_attention" in caught.value.remedy
