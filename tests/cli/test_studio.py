"""`regard studio`: says where it is, refuses what it cannot show, wants a token beyond this machine."""

import json
import os
import shutil
import socket

import pytest

import regard.studio.server as server_room
import regard.studio.state as page_room
from regard.cli import output


@pytest.fixture
def started(monkeypatch, tmp_path_factory):
    """Everything but the listening: the studio that would be served, with a page of one file."""
    found = []
    built = tmp_path_factory.mktemp("page")
    (built / "index.html").write_text("<!doctype html>")
    monkeypatch.setattr(page_room, "FOLDER", built)

    def serve(studio, opened):
        found.append(studio)
        opened(4711)

    monkeypatch.setattr(server_room, "serve", serve)
    opened = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    monkeypatch.setenv("DISPLAY", ":0")
    return found, opened


def test_it_says_where_it_is(trained, tell, tell_json, started):
    found, opened = started
    code, out, err = tell("studio", trained)
    assert (code, out) == (0, "http://127.0.0.1:4711/\n")
    assert "regard studio: tiny" in err
    assert opened == ["http://127.0.0.1:4711/"]
    assert found[0].settings.token is None
    told = {"url": "http://127.0.0.1:4711/", "host": "127.0.0.1", "port": 4711, "runs": ["tiny"]}
    assert tell_json("studio", trained) == (0, told)
    assert len(opened) == 1, "a program wants no browser"


def test_no_browser_where_none_is_wanted_or_nothing_can_show_it(
    trained, tell, started, monkeypatch
):
    tell("studio", trained, "--no-open")
    monkeypatch.delenv("DISPLAY")
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    monkeypatch.setattr("sys.platform", "linux")
    tell("studio", trained)
    assert started[1] == []


def test_without_a_run_it_shows_those_of_this_folder(run, tmp_path, tell, started, monkeypatch):
    (tmp_path / "runs").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("regard.box.PLACE", tmp_path / "empty")
    _, _, err = tell("studio")
    assert "nothing trained yet" in err
    run.rename(tmp_path / "runs" / "mine")
    (tmp_path / "runs" / "other").mkdir()
    _, _, err = tell("studio")
    assert "regard studio: mine\n" in err


CARD = """
name = "petit"
title = "A few words of French"
task = "translate"
languages = ["en", "fr"]
licence = "CC0-1.0"
date = 2026-11-01
parameters = 4711
weights = "float32"
command = "regard train"
example = "two dogs run"
limits = ["short sentences"]
sources = [{ name = "ours", licence = "CC0-1.0" }]
scores = [{ test = "held out", metric = "chrF", value = 61.5, signature = "nrefs:1" }]
"""


@pytest.fixture
def boxed(trained, tmp_path, monkeypatch):
    """A box with one model in it, and a folder without any run."""
    models = tmp_path / "models"
    shutil.copytree(trained, models / "petit")
    (models / "petit" / "metrics.jsonl").unlink(missing_ok=True)
    (models / "petit" / "card.toml").write_text(CARD)
    monkeypatch.setattr("regard.box.PLACE", models)
    monkeypatch.chdir(tmp_path)


def test_with_nothing_of_your_own_it_opens_on_what_is_in_the_box(boxed, tell, tell_json, started):
    assert tell_json("studio")[1]["runs"] == ["petit"]
    (shown,) = started[0]
    about = shown.shelf.about("petit")
    assert about["summary"] == "A few words of French"
    assert about["parameters"] == 4711
    told = {"name": "chrF", "value": 61.5, "test": "held out", "direction": ""}
    assert about["scores"] == [told]


def test_your_own_come_before_the_box_and_a_name_is_enough(
    boxed, run, tmp_path, tell_json, started
):
    (tmp_path / "runs").mkdir()
    run.rename(tmp_path / "runs" / "mine")
    assert tell_json("studio")[1]["runs"] == ["mine", "petit"]
    assert tell_json("studio", "petit")[1]["runs"] == ["petit"]


def test_an_archive_is_unpacked_for_the_while(trained, tmp_path, tell_json, started):
    from regard.run import archive

    packed = tmp_path / "packed.zip"
    archive.pack(trained, packed)
    assert tell_json("studio", packed)[1]["runs"] == ["packed"]


def test_beyond_this_machine_a_token_is_made_up(trained, tell_json, started):
    found, _ = started
    for host in ("0.0.0.0", "10.0.0.7", "::"):
        _, told = tell_json("studio", trained, "--host", host)
        assert told["url"].endswith(f"?token={found[-1].settings.token}")
        assert len(found[-1].settings.token) >= 32
    tokens = {studio.settings.token for studio in found}
    assert len(tokens) == 3
    tell_json("studio", trained, "--host", "0.0.0.0", "--token", "one-of-my-own")
    assert found[-1].settings.token == "one-of-my-own"


def test_a_token_too_short(trained, tell_json, started):
    code, told = tell_json("studio", trained, "--token", "abc")
    assert (code, told["what"]) == (2, "a token has at least 8 plain characters")


def test_a_token_that_the_process_list_does_not_show(
    trained, tmp_path, tell_json, started, monkeypatch
):
    found, _ = started
    monkeypatch.setenv("REGARD_TOKEN", "of-the-environment")
    tell_json("studio", trained)
    assert found[-1].settings.token == "of-the-environment"
    assert "REGARD_TOKEN" not in os.environ, "what is started from here does not inherit it"
    (tmp_path / "token").write_text("of-a-file\nand more\n")
    tell_json("studio", trained, "--token-file", tmp_path / "token")
    assert found[-1].settings.token == "of-a-file"
    both = ("--token-file", tmp_path / "token", "--token", "of-the-command-line")
    assert tell_json("studio", trained, *both)[0] == 2
    code, told = tell_json("studio", trained, "--token-file", tmp_path / "nowhere")
    assert (code, told["where"]) == (2, str(tmp_path / "nowhere"))


def test_without_the_page_nothing_is_served(trained, tmp_path, tell_json, started, monkeypatch):
    monkeypatch.setattr(page_room, "FOLDER", tmp_path)
    code, told = tell_json("studio", trained)
    assert (code, "not built" in told["what"]) == (2, True)
    assert "make page" in told["remedy"]
    assert started[0] == []
    assert tell_json("studio", trained, "--no-page")[0] == 0


@pytest.mark.parametrize(("name", "expected"), [("nowhere", 2), (".", 4)])
def test_what_is_no_run(name, expected, tmp_path, tell_json, started):
    code, told = tell_json("studio", tmp_path / name)
    assert code == expected
    assert "run" in told["what"]
    assert started[0] == []


def test_a_port_in_use_is_exit_nine(trained, tell):
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        one.listen()
        port = one.getsockname()[1]
        code, out, _ = tell("studio", trained, "--port", port, "--no-page", "--json")
    assert code == 9
    assert f"port {port} is in use" in json.loads(out)["what"]
    output.speak_json(False)
