"""Help comes at once, as nothing heavy is loaded for it."""

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
