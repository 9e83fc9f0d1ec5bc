"""`regard align`: links in Pharaoh's notation, a line a pair, and how far they are from those of people."""

import pytest

from tests.run import kinds


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("align")
    for name, lines in {
        "a": ["a b c", "d e", "f"],
        "b": ["c b a", "e d", "f"],
        "gold": ["1-1 2p2", "1-2", "1-1"],
    }.items():
        (folder / name).write_text("\n".join(lines) + "\n")
    return folder


def test_a_line_of_links_for_every_pair(files, tell, tell_json):
    run = kinds.make(files / "run", "transformer")
    code, out, err = tell("align", run, files / "a", files / "b")
    assert code == 0, err
    lines = out.splitlines()
    assert len(lines) == 3
    assert lines[2] == "0-0"
    assert "read at: reader.blocks." in err
    _, answer = tell_json("align", run, files / "a", files / "b")
    assert answer["links"] == lines
    assert answer["error"] is None


def test_links_of_people_judge_and_choose(files, tell, tell_json):
    run = kinds.make(files / "judged", "rnn")
    options = ["align", run, files / "a", files / "b", "--gold", files / "gold", "--first", 1]
    _, answer = tell_json(*options)
    assert 0 <= answer["error"] <= 100
    assert answer["judged"] == 3
    _, answer = tell_json(*options, "--by", "gold", "--choose", 2, "--backward", run)
    assert answer["judged"] == 1  # the two it chose by do not count
    assert answer["backward"] is not None


def test_what_cannot_be_meant_is_refused(files, tell):
    run = kinds.make(files / "wrong", "transformer")
    assert tell("align", run, files / "a", files / "b", "--by", "gold")[0] == 2
    (files / "short").write_text("a b c\n")
    assert tell("align", run, files / "a", files / "short")[0] == 3


def test_the_language_is_that_of_the_file_unless_it_is_named(tmp_path, tell):
    """Without `--to` the translator in the box was said to have no attention between two languages."""
    (tmp_path / "a.en").write_text("The cat sleeps .\n")
    (tmp_path / "a.fr").write_text("Le chat dort .\n")
    code, out, err = tell("align", "translator", tmp_path / "a.en", tmp_path / "a.fr")
    assert (code, len(out.split())) == (0, 4), err
    assert tell("align", "translator", tmp_path / "a.en", tmp_path / "a.fr", "--to", "fr")[1] == out
