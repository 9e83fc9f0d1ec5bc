"""`regard look`: the map in the terminal, and all of it as JSON."""

import shutil

import numpy as np
import pytest

from regard.data.png import SIGNATURE
from regard.run.folder import Run
from tests.cli.tiny import TINY


@pytest.fixture(scope="module")
def transformer(tmp_path_factory):
    from regard.cli.main import status

    folder = tmp_path_factory.mktemp("runs") / "blocks"
    small = [f"--set=model.{side}.heads=2" for side in ("encoder", "reader")]
    small += [f"--set=model.{side}.layers=1" for side in ("encoder", "reader")]
    arguments = ["train", "--toy", "copy", "-p", "vaswani2017-tiny", "-o", str(folder)]
    assert status([*arguments, *TINY, *small]) == 0
    return folder


def test_json_holds_every_site_by_its_axes(transformer, tell_json):
    code, answer = tell_json("look", transformer, "a b c")
    assert code == 0
    assert answer["question"] == "a b c"
    assert answer["axes"]["source"]["pieces"] == ["▁a", "▁b", "▁c", "</s>"]
    assert len(answer["sites"]) == 3  # encoder, decoder, and from one to the other
    for site in answer["sites"]:
        weights = np.array(site["weights"])
        rows, columns = (len(answer["axes"][site[side]]["pieces"]) for side in ("queries", "keys"))
        assert weights.shape == (2, rows, columns)
        np.testing.assert_allclose(weights.sum(-1), 1, atol=1e-5)


def test_examples_that_are_damaged_are_not_called_missing(transformer, tmp_path, tell):
    run = tmp_path / "run"
    shutil.copytree(transformer, run)
    probes = run / "data" / "probes.jsonl"
    probes.write_bytes(b'{"question": 3}\n')
    code, _, err = tell("look", run)
    assert (code, "line 1 of probes.jsonl is damaged" in err) == (4, True)
    probes.unlink()
    code, _, err = tell("look", run)
    assert (code, "this run kept no examples" in err) == (2, True)


def test_the_map_faces_the_source(transformer, tell):
    code, out, err = tell("look", transformer, "a b c")
    assert code == 0
    assert out.startswith("a b c  ->  ")
    assert "reader.blocks.0.cross" in out
    assert "mean of 2 heads" in out
    assert "Other attentions, for --site:\n  encoder.blocks.N.attention.attention   N = 0\n" in err


def test_one_head_and_all_heads(transformer, tell):
    assert "head 1" in tell("look", transformer, "a b", "--head", 1)[1]
    _, out, _ = tell("look", transformer, "a b", "--all-heads")
    assert "head 0" in out
    assert "head 1" in out


def test_a_site_by_its_name(transformer, tell, tell_json):
    path = tell_json("look", transformer, "a b")[1]["sites"][0]["path"]
    assert path in tell("look", transformer, "a b", "--site", path)[1]
    code, _, err = tell("look", transformer, "a b", "--site", "nowhere")
    assert code == 2
    assert path in err


def test_a_head_that_is_not_there(transformer, tell):
    code, out, err = tell("look", transformer, "a b", "--head", 2)
    assert (code, out) == (2, "")
    assert "choose 0 to 1" in err


def test_without_a_text_the_run_shows_one_of_its_own(trained, tell_json):
    question, _ = Run.open(trained).probes()[0]
    assert tell_json("look", trained)[1]["question"] == question


def test_nothing_is_looked_at_where_there_is_nothing(trained, tell):
    assert tell("look", trained, "")[0] == 0


def test_beam(trained, tell_json):
    assert tell_json("look", trained, "a b", "--beam", 3)[0] == 0
    assert tell_json("look", trained, "a b", "--beam", 0)[0] == 2


def test_the_longest_answer(trained, tell_json):
    """A language model that never ends said 256 words, and `look` had no option for fewer."""
    steps = [
        len(tell_json("look", trained, "a b", "--max-length", most)[1]["steps"]) for most in (1, 9)
    ]
    assert steps[0] == 1 < steps[1] <= 9
    assert tell_json("look", trained, "a b", "--max-length", 0)[0] == 2
    assert tell_json("look", trained, "a b", "--unrolled", "--max-length", 1)[0] == 2


def test_a_trace_as_files(transformer, tmp_path, tell):
    from xml.etree import ElementTree

    from regard.traces.trace import Trace

    svg, png, html, npz = files = [tmp_path / f"a.{kind}" for kind in ("svg", "png", "html", "npz")]
    kinds = [word for file in files for word in (f"--{file.suffix[1:]}", file)]
    code, out, err = tell("look", transformer, "a b", *kinds)
    assert (code, out) == (0, "")
    assert err == "".join(f"wrote {file}\n" for file in files)
    assert png.read_bytes().startswith(SIGNATURE)
    assert ElementTree.parse(svg).getroot().tag.endswith("svg")
    assert html.read_text("utf-8").startswith("<!doctype html>")
    assert Trace.load(npz).question == "a b"


@pytest.mark.parametrize("kind", ["--svg", "--png", "--html"])
def test_a_file_of_a_head_that_is_not_there(transformer, tmp_path, tell, kind):
    code, _, err = tell("look", transformer, "a b", "--head", 2, kind, tmp_path / "a")
    assert code == 2
    assert "choose 0 to 1" in err
    assert not list(tmp_path.iterdir())


def test_no_run(tmp_path, tell_json):
    code, answer = tell_json("look", tmp_path, "a")
    assert (code, answer["error"]) == (4, "ModelFileError")
