"""A file that grows is followed by whole lines, and what is no object is passed over."""

from regard.studio.live import Tail, parsed, read_lines


def test_a_file_is_followed_by_whole_lines(tmp_path):
    path = tmp_path / "metrics.jsonl"
    path.write_text('{"step": 1}\n')
    tail = Tail(path)
    assert tail.lines() == []
    with path.open("a") as file:
        file.write('{"step": 2}\nno json\n{"st')
    assert tail.lines() == [{"step": 2}]
    with path.open("a") as file:
        file.write('ep": 3}\n')
    assert tail.lines() == [{"step": 3}]
    path.write_text('{"step": 1}\n')
    assert tail.lines() == [{"step": 1}]
    path.unlink()
    assert tail.lines() == []


def test_what_is_believed():
    assert parsed(b'{"loss": NaN, "rate": 1e999, "step": 3, "x": -Infinity}') == {
        "loss": None,
        "rate": None,
        "step": 3,
        "x": None,
    }
    for line in (b"", b"[1]", b"7", b"{", b"\xff", b"[" * 100_000):
        assert parsed(line) is None


def test_a_torn_end_is_left_out(tmp_path):
    path = tmp_path / "metrics.jsonl"
    assert read_lines(path) == []
    path.write_bytes(b'{"step": 1}\n\n{"step": 2}\n{"step"')
    assert read_lines(path) == [{"step": 1}, {"step": 2}]
