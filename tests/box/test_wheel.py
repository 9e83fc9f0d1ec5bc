"""The box as somebody gets it: out of the wheel, in a fresh environment, without a network."""

import os
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

from regard import box

ROOT = Path(__file__).parents[2]
# A program that cannot reach the network: any attempt is an error.
OFFLINE = """
import socket, sys

def refuse(*_):
    raise AssertionError("this wanted the network")

socket.socket.connect = socket.create_connection = socket.getaddrinfo = refuse
from regard.cli.main import status
sys.exit(status(sys.argv[1:]))
"""
ASKED = {
    "translate": ["translate", "The black cat ate the mouse.", "--to", "fr", "--look"],
    "tag": ["tag", "The black cat ate the mouse ."],
    "classify": ["classify", "A warm, funny, engaging film."],
    "language": ["continue", "I would like to"],
    "point": ["point", "0.3 0.1 0.2"],
}


def run(*command, **more):
    done = subprocess.run(command, capture_output=True, text=True, check=False, **more)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return done.stdout


@pytest.mark.slow
def test_every_model_answers_out_of_the_wheel(tmp_path):
    copy, out, place = (tmp_path / name for name in ("copy", "out", "place"))
    for name in run("git", "ls-files", "-z", cwd=ROOT).split("\0"):
        if name and (ROOT / name).is_file():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, copy / name)
    pip = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", str(out), str(copy)]
    run(*pip, env={**os.environ, "REGARD_NO_WEB": "1"})
    (wheel,) = out.glob("*.whl")
    venv.create(place, with_pip=False)
    python = str(place / "bin" / "python")
    own = Path(run(python, "-c", "import site; print(site.getsitepackages()[0])").strip())
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(own)
    (own / "lent.pth").write_text(sysconfig.get_paths()["purelib"] + "\n")
    program = tmp_path / "offline.py"
    program.write_text(OFFLINE)
    assert box.names() == [
        line.split()[0]
        for line in run(python, str(program), "models", cwd=tmp_path).splitlines()[3:]
        if line.strip() and not line.startswith("  ")
    ]
    for name in box.names():
        asked = ASKED.get(box.card(name).task, ["look", name])
        answer = run(python, str(program), *asked, cwd=tmp_path)
        assert answer.strip()
