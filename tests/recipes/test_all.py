"""The commands of `recipes/all.py` name scripts and options that exist."""

import argparse
import importlib.util
import re
import sys

from tests.house.tree import ROOT

RECIPES = ROOT / "recipes"
SHARED = (RECIPES / "pictured.py").read_text("utf-8")
spec = importlib.util.spec_from_file_location("every_recipe", RECIPES / "all.py")
every = sys.modules["every_recipe"] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(every)


def test_commands_name_what_exists(tmp_path):
    options = argparse.Namespace(data=tmp_path, out=tmp_path / "out", seconds=1000.0)
    for name, job in every.JOBS.items():
        script, *words = every.filled(job, options).split()
        source = (RECIPES / script).read_text("utf-8") + SHARED
        for flag in [word for word in [*words, "--device"] if word.startswith("--")]:
            assert f'"{flag}"' in source, (name, flag)
        chosen = re.search(r"--only ([a-z -]+?)(?: --|$)", " ".join(words))
        for row in chosen.group(1).split() if chosen else ():
            assert f'"{row}"' in source, (name, row)
        assert set(job.after) <= set(every.JOBS), name


def test_training_takes_four_fifths(tmp_path):
    options = argparse.Namespace(data=tmp_path, out=tmp_path, seconds=1000.0)
    assert "--seconds 800" in every.filled(every.JOBS["tours"], options)
    assert "--minutes 13.33" in every.filled(every.JOBS["formulas"], options)
    assert "--minutes 6.67" in every.filled(every.JOBS["pictures"], options)
