"""What `import regard` gives, name by name: a name comes or goes because somebody meant it."""

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import regard

PUBLIC = """
    Additive Alibi Aligned Attention Causal Cosine Covered DecodeSettings Dot Entmax15 FeatureMap General
    Given GlobalWindow Gumbel Hard Heads Hypothesis Image Learned Location LocationAware Memory Model
    ModelSettings Padding
    Prediction Predictor Proportional Question RegardError Relu Rotary Run ScaledDot Sigmoid Sinusoidal Sizes
    Softmax Sound Sparsemax Strided Trace Window align attend beam build count_parameters greedy head_view
    Listener load look model_view neuron_view reference sample sinusoid trace train watch worked
""".split()  # noqa: SIM905


def test_exports_are_exact_and_sorted():
    assert dir(regard) == sorted([*PUBLIC, "__version__"])
    assert regard.__all__ == sorted(regard.__all__)
    assert set(regard.__all__) <= set(PUBLIC)


def test_every_export_is_what_its_room_calls_so():
    for name in PUBLIC:
        value = getattr(regard, name)
        if name in regard._ROOMS:
            assert value is importlib.import_module(f"regard.{name}")
            continue
        room = importlib.import_module(f"regard.{regard._HOME_OF[name]}")
        assert value is getattr(room, name)
        assert name in getattr(room, "__all__", [name])


def test_type_checkers_see_no_other_names():
    tree = ast.parse(Path(regard.__file__).read_text("utf-8"))
    (block,) = [node for node in tree.body if isinstance(node, ast.If)]
    seen = {alias.asname for node in block.body for alias in node.names}
    assert seen <= set(PUBLIC)


def test_no_room_hides_what_people_call():
    import regard.training
    from regard.api import train

    assert regard.train is train
    rooms = {path.stem for path in Path(regard.__file__).parent.iterdir()}
    assert not (rooms & set(PUBLIC)) - {"worked"}


def test_a_wrong_name_is_an_attribute_error():
    assert not hasattr(regard, "attn")


def test_importing_loads_no_torch():
    program = "import sys, regard; regard.RegardError; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
