"""`SKIPPED.md` is true: what may be skipped has a line there, and what has a line may be skipped."""

import re

from tests.house.tree import ROOT

SKIPS = re.compile(r"\bskipif\(|\bpytest\.skip\(|\bimportorskip\(|\bmark\.skip\(")


def test_every_test_that_may_be_skipped_has_its_line():
    told = set(re.findall(r"\| `([\w/]+\.py)", (ROOT / "tests" / "SKIPPED.md").read_text("utf-8")))
    may = {
        str(path.relative_to(ROOT / "tests"))
        for path in (ROOT / "tests").rglob("*.py")
        if path.name != "test_skipped.py" and SKIPS.search(path.read_text("utf-8"))
    }
    assert told == may
