"""The closed sets of attention as fixtures: a law that asks for one is tried on every member of it."""

from types import SimpleNamespace

import pytest
import torch

from regard.attention import (
    NORMALISERS,
    SCORES,
    Attention,
    Causal,
    Given,
    GlobalWindow,
    Padding,
    Strided,
    Window,
    make_normaliser,
    make_score,
)

SIZES = SimpleNamespace(batch=3, heads=2, queries=5, keys=7, width=11, value_width=13)

# Padding leaves the last row of the batch with nothing to see, `given` one query of the second row.
MASKS = {
    "none": lambda queries: None,
    "padding": lambda queries: Padding(torch.tensor([7, 3, 0])),
    "causal": lambda queries: Causal(),
    "window": lambda queries: Window(1, 2),
    "strided": lambda queries: Strided(3),
    "global-window": lambda queries: GlobalWindow(1, 1),
    "given": lambda queries: Given(pattern(queries)),
    "padding&causal": lambda queries: Padding(torch.tensor([7, 3, 0])) & Causal(),
    "padding&window&given": lambda queries: (
        Padding(torch.tensor([5, 7, 2])) & Window(2, 1) & Given(pattern(queries))
    ),
    "causal&strided": lambda queries: Causal() & Strided(2),
}


def pattern(queries):
    chance = torch.Generator().manual_seed(queries)
    allowed = torch.rand(3, 2, queries, 7, generator=chance) > 0.4
    allowed[1, :, 2] = False
    return allowed


@pytest.fixture(autouse=True)
def _seeded():
    torch.manual_seed(17)


@pytest.fixture(autouse=True, scope="session")
def _one_thread():
    """Tiny tensors only wait for a second thread."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture
def sizes():
    return SIZES


@pytest.fixture(params=SCORES)
def score_name(request):
    return request.param


@pytest.fixture(params=NORMALISERS)
def normaliser_name(request):
    return request.param


@pytest.fixture
def masks():
    """Every kind of mask, for 5 queries on 7 keys."""
    return {name: make(SIZES.queries) for name, make in MASKS.items()}


@pytest.fixture
def square_masks():
    """Every kind of mask, for a sequence of 7 that attends to itself."""
    return {name: make(SIZES.keys) for name, make in MASKS.items()}


@pytest.fixture
def make_attention():
    """An attention with weights of its own for every head, by the names of its parts."""

    def make(score, normaliser="softmax", *, width=SIZES.width, heads=SIZES.heads, **options):
        made = make_score(
            score, query_width=width, key_width=width, num_heads=heads, neurons=3, max_length=19
        )
        return Attention(made, make_normaliser(normaliser), **options).eval()

    return make


@pytest.fixture
def random_inputs():
    """Query, key and value of distinct prime sizes."""

    def draw(queries=SIZES.queries, keys=SIZES.keys, dtype=torch.float32, grad=False):
        shapes = (queries, SIZES.width), (keys, SIZES.width), (keys, SIZES.value_width)
        return tuple(
            torch.randn(SIZES.batch, SIZES.heads, *shape, dtype=dtype).requires_grad_(grad)
            for shape in shapes
        )

    return draw
