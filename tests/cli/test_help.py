"""Help comes at once, and an answer soon: what is not needed is not loaded."""

import subprocess
import sys

HEAVY = {
    "torch",
    "numpy",
    "tokenizers",
    "sacrebleu",
    "safetensors",
    "jaxtyping",
    "fastapi",
    "uvicorn",
}
PROGRAM = """
import sys
from regard.cli.main import app, status
from typer.main import get_command

assert status(["--version"]) == 0
assert status(["--help"]) == 0
print(*sys.modules)
commands = sorted(get_command(app).commands)
for command in commands:
    assert status([command, "--help"]) == 0, command
print(*commands)
print(*sys.modules)
"""


def test_help_loads_nothing_heavy():
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True
    )
    lines = [line.split() for line in done.stdout.splitlines()]
    first = next(words for words in lines if "regard.cli.main" in words)
    commands, second = lines[-2:]
    assert "train" in commands
    assert heavy(first, HEAVY | {"pydantic"}) == set()
    # With options to read, Typer itself brings pydantic.
    assert heavy(second, HEAVY) == set()


def heavy(modules, names):
    return names & {name.partition(".")[0] for name in modules}


NOT_TO_ANSWER = {
    "rich",
    "sacrebleu",
    "lxml",
    "sympy",
    "triton",
    "fastapi",
    "torch._dynamo",
    "torch._inductor",
    "regard.data.source",
    "regard.data.toys",
    "regard.data.formats",
    "regard.training",
    "regard.traces",
    "regard.show",
    "regard.studio",
}
MOST = 330  # modules besides those of torch; 439 before any of the above was left out
SENTENCE = """
import sys, torch
before = set(sys.modules)
from regard.cli.main import status
assert status(["translate", "Where is the station?", "--to", "fr"]) == 0
print(*(set(sys.modules) - before))
"""


def test_a_sentence_loads_only_what_answers_it():
    """Time is not tested, for it is the machine's; each module left out is time that nobody waits."""
    done = subprocess.run(
        [sys.executable, "-c", SENTENCE], capture_output=True, text=True, check=True
    )
    loaded = set(done.stdout.splitlines()[-1].split())
    assert NOT_TO_ANSWER & loaded == set()
    assert len(loaded) <= MOST
