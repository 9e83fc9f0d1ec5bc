"""`regard look --unrolled` and `--positions`, and pictures of lessons."""

import numpy as np
import pytest
import torch

from regard.attention.position import added_tables
from regard.run.folder import Run
from tests.run import kinds


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place, made = tmp_path_factory.mktemp("inside"), {}

    def get(kind):
        if kind not in made:
            made[kind] = kinds.make(place / kind, kind)
        return made[kind]

    return get


def test_unrolled_in_a_terminal_and_as_a_file(folder, tell, tmp_path):
    code, out, err = tell("look", folder("rnn"), "n o t e s", "--unrolled")
    assert code == 0
    assert "encoder reads" in out
    assert "decoder reads, and says" in out
    assert "the decoder begins with the encoder's last state" in err
    picture = tmp_path / "steps.svg"
    code, out, err = tell("look", folder("rnn"), "n o t e s", "--unrolled", "--svg", picture)
    assert (code, out) == (0, "")
    drawn = picture.read_text()
    assert drawn.count("<image") == drawn.count("step ") > 6, "one column of colours a time step"


def test_learned_positions_are_the_rows_of_the_weight(folder, tell_json):
    code, found = tell_json("look", folder("learned"), "--positions")
    assert code == 0
    model = Run.open(folder("learned")).load_model()
    encoder, reader = found["positions"]
    assert encoder["kind"] == reader["kind"] == "learned"
    weight = model.encoder.embedding.position.weight.detach().numpy()
    assert np.array(encoder["table"]).shape == (19, 12), "no more than it has"
    np.testing.assert_allclose(encoder["table"], weight, rtol=1e-6)
    assert len(reader["table"]) == 7


def test_one_table_that_both_sides_use_is_drawn_once(folder, tell, tmp_path):
    tables = added_tables(Run.open(folder("transformer")).load_model(), 20)
    ((_, _, table),) = tables
    assert table.shape == (20, 12)
    assert torch.equal(table, tables[0][1].table(20))
    code, out, _ = tell("look", folder("transformer"), "--positions")
    assert code == 0
    assert "sinusoidal: positions down, dimensions across" in out
    picture = tmp_path / "positions.svg"
    assert tell("look", folder("transformer"), "--positions", "--svg", picture)[0] == 0
    assert "20 positions of 12 numbers" in picture.read_text()


@pytest.mark.parametrize(
    ("kind", "words", "said"),
    [
        ("rnn", ["--positions"], "this model adds no vectors to tell positions"),
        ("transformer", ["n o", "--unrolled"], "only recurrent encoders and decoders"),
        (
            "rnn",
            ["n o", "--unrolled", "--head", "0"],
            "--head changes nothing: --unrolled draws no attention",
        ),
        ("transformer", ["n o", "--positions"], "positions are the same for every text"),
    ],
)
def test_what_does_not_fit_is_refused(folder, tell, kind, words, said):
    code, _, err = tell("look", folder(kind), *words)
    assert code == 2
    assert said in err


def test_the_picture_of_a_lesson(tell, tmp_path):
    picture = tmp_path / "positions.svg"
    code, out, err = tell("lesson", "position-picture", "--svg", picture)
    assert (code, out, err) == (0, "", f"wrote {picture}\n")
    assert "The picture of positions (L44)" in picture.read_text()
    code, _, err = tell("lesson", "flying-arrows", "--svg", picture)
    assert code == 2
    assert "no table of numbers" in err


def test_a_turned_map_has_one_column_a_step(folder, tell, tmp_path):
    from regard.answer.tracing import trace
    from regard.show import figure

    seen = trace(kinds.load(folder("rnn")), "n o t e s")
    plain, turned = (figure.drawing(seen, 0, turned=way) for way in (False, True))

    def cells(drawn):
        found = [shape for shape in drawn.shapes if isinstance(shape, figure.Box) and shape.told]
        return {
            tuple(shape.told.partition(":")[0].split(" \u2192 ")): shape.told for shape in found
        }

    one, other = cells(plain), cells(turned)
    assert {pair[::-1] for pair in one} == set(other)
    for (row, column), told in one.items():
        assert told.partition(": ")[2] == other[column, row].partition(": ")[2]
    assert "source down, answer across" in [s.text for s in turned.shapes if hasattr(s, "text")][1]
    code, out, _ = tell("look", folder("rnn"), "n o t e s", "--turned")
    assert code == 0
    assert "source down, answer across" in out
    code, _, err = tell("look", folder("rnn"), "n o t e s", "--turned", "--npz", tmp_path / "a.npz")
    assert code == 2
    assert "--turned changes nothing" in err


def test_arcs_say_which_attention_they_are_of(folder, tell):
    """The lines below spoke of the alignment that was not drawn."""
    code, out, err = tell("look", folder("transformer"), "n o t e s", "--arcs")
    assert code == 0
    assert "reader.blocks.1.attention.attention: each word" in out
    assert "Whole words" not in err
    assert "reader.blocks.N.attention.attention   N = 0\n" in err
    code, _, err = tell("look", folder("transformer"), "n o t e s", "--smooth")
    assert (code, "--smooth changes nothing" in err) == (2, True)


def test_a_pointers_answer_is_drawn_in_the_plane(folder, tell, tell_json, tmp_path):
    items = "0.1,0.2 0.9,0.8 0.5,0.1 0.3,0.9"
    code, found = tell_json("look", folder("hull"), items, "--plane")
    assert code == 0
    assert found["points"][1] == pytest.approx([0.9, 0.8])
    assert set(found["order"]) <= {0, 1, 2, 3}
    code, out, err = tell("look", folder("hull"), items, "--plane")
    assert code == 0
    assert all(number in out for number in "0123")
    assert "a line through" in err
    picture = tmp_path / "hull.svg"
    painted = tmp_path / "plane.png"
    files = ["--svg", picture, "--png", painted]
    code, out, err = tell("look", folder("hull"), items, "--plane", *files)
    assert (code, out, painted.read_bytes()[:4]) == (0, "", b"\x89PNG"), err
    assert "a line through" in picture.read_text()
    code, _, err = tell("look", folder("point"), "3 1 2", "--plane")
    assert (code, "does not lie in a plane" in err) == (2, True)
    code, _, err = tell("look", folder("hull"), items, "--plane", "--positions")
    assert (code, "--positions and --plane draw different things" in err) == (2, True)
