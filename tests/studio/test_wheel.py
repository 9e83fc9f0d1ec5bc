"""The wheel as somebody gets it: built from a clean copy, installed elsewhere, opened in a browser."""

import gzip
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

from regard import box
from tests.studio.browser import VIEWS, needed, open_at, settled, watched
from tests.studio.kit import server
from tests.studio.test_browser import walk

ROOT = Path(__file__).parents[2]

pytestmark = [
    *needed,
    pytest.mark.skipif(shutil.which("npm") is None, reason="needs Node to build the page"),
]


def run(*command, **more):
    done = subprocess.run(command, capture_output=True, text=True, check=False, **more)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """Built from what git knows of: nothing that was built here before can slip in."""
    copy = tmp_path_factory.mktemp("copy")
    for name in run("git", "ls-files", "-z", cwd=ROOT).split("\0"):
        if name and (ROOT / name).is_file():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, copy / name)
    out = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", str(out), str(copy))
    (built,) = out.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    """A fresh environment with the wheel; what it depends on is lent by the one that tests."""
    place = tmp_path_factory.mktemp("environment")
    venv.create(place, with_pip=False)
    python = place / "bin" / "python"
    own = Path(run(str(python), "-c", "import site; print(site.getsitepackages()[0])").strip())
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(own)
    (own / "lent.pth").write_text(sysconfig.get_paths()["purelib"] + "\n")
    found = run(str(python), "-c", "import regard; print(regard.__file__)", cwd=place)
    assert Path(found.strip()).is_relative_to(own)
    return str(python)


def test_the_wheel_has_the_page_and_nothing_that_made_it(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    assert "regard/studio/page/index.html" in names
    assert any(name.endswith(".js") for name in names)
    assert not [name for name in names if name.startswith(("web/", "tests/")) or ".map" in name]


def test_the_page_is_light(wheel):
    """All that a browser fetches to begin with, as it would travel compressed."""
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if name.startswith("regard/studio/page/")]
        assert sum(len(gzip.compress(archive.read(name))) for name in names) < 150_000


@pytest.fixture(scope="module")
def studio_server(installed, trained, runs):
    folder = trained.parents[1]
    with server(trained, runs["rnn"], folder=folder, more=("--no-open",), python=installed) as one:
        yield one


def test_every_view_from_the_wheel(page, address, theme, tmp_path):
    walk(page, address, theme, tmp_path)


def test_the_first_minute(chromium, installed, tmp_path):
    """In an empty folder it opens on the box, an example already answered; the lessons need no model."""
    with server(folder=tmp_path, more=("--no-open",), python=installed) as one:
        assert one.told["runs"][0] == box.names()[0]
        page = chromium.new_page()
        faults = watched(page, one.url)
        page.goto(one.url)
        settled(page, "answer")
        example = box.card(box.names()[0]).example
        assert page.locator("form textarea").first.input_value() == example
        assert page.locator(".answer .all").inner_text() not in ("", "(nothing)")
        assert page.locator("section[aria-label='Where this step looked'] .key").count() > 1
        open_at(page, one.url, view="lessons")
        settled(page, "lessons")
        assert page.title() == f"{VIEWS['lessons']} · regard studio"
        page.close()
        assert faults == []
