"""The translator in the box gives the same answer alone and in company, at its defaults (int8)."""

import json
import os
import subprocess
import sys
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import pytest

from regard import box
from regard.answer.predictor import Predictor

TEXTS = Path(__file__).parent.parent / "box"
WAYS = (("en", "de"), ("en", "fr"), ("de", "en"), ("fr", "en"))
BEAMS = (1, 2, 4)
SIZES = (2, 3, 7, 8, 9, 24, 31)
ODD = {  # where two answers lie close
    "en": (". always I", "my dog my dog my", "Yes.", "the of at"),
    "de": (". immer ich", "und und der", "Ja.", "Es es es regnet nicht. Doch."),
    "fr": (". toujours je", "et et le", "Oui.", "Il pleut. Non, il ne pleut pas."),
}


def questions(language):
    lines = (TEXTS / f"small.{language}").read_text("utf-8").splitlines()
    return [*ODD[language], *lines[:20]]


def compared(ways, beams, sizes):
    """How many answers were compared, the texts that differ, and how far scores were apart at the most."""
    predictor, chance = Predictor.load(box.folder("translator"), "cpu"), Random(14)
    count, differ, apart = 0, [], 0.0
    for (spoken, to), beam, split in product(ways, beams, (True, False)):
        texts, manner = questions(spoken), {"to": to, "beam": beam, "split": split}
        if not split:
            manner, texts = {"beam": beam}, [f">>{to}<< {text}" for text in texts]
        alone = [predictor.predict([text], **manner)[0] for text in texts]
        for size in sizes:
            chosen = [chance.randrange(len(texts)) for _ in range(size)]
            answers = predictor.predict([texts[one] for one in chosen], **manner)
            for one, answer in zip(chosen, answers, strict=True):
                count += 1
                apart = max(apart, abs(answer.score - alone[one].score))
                if answer.text != alone[one].text:
                    differ.append((manner, size, alone[one].text, answer.text))
    return count, differ, apart


def in_a_process(*arguments: str, **reduced: str) -> dict[str, Any]:
    """The comparison without the shape checks of the tests, which would take most of the time."""
    command = [sys.executable, __file__, *arguments]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", **reduced}
    done = subprocess.run(command, check=True, env=environment, stdout=subprocess.PIPE)
    return json.loads(done.stdout)


@pytest.mark.slow
@pytest.mark.parametrize("beam", BEAMS)
def test_alone_and_in_company(beam):
    """All directions, sentence by sentence and read as a whole: 2,016 comparisons of three beams."""
    found = in_a_process(str(beam), *map("-".join, WAYS))
    assert found["count"] == 2 * len(WAYS) * sum(SIZES) == 2016 / len(BEAMS)
    assert found["differ"] == []
    assert found["apart"] <= 1e-5


@pytest.mark.slow
@pytest.mark.parametrize(
    "reduced",
    [
        {"ATEN_CPU_CAPABILITY": "default"},
        {
            "ATEN_CPU_CAPABILITY": "avx2",
            "ONEDNN_MAX_CPU_ISA": "AVX2",
            "MKL_ENABLE_INSTRUCTIONS": "AVX2",
        },
    ],
    ids=["default", "avx2"],
)
def test_on_processors_that_can_do_less(reduced):
    found = in_a_process("2", "en-de", "en-fr", **reduced)
    assert (found["differ"], found["apart"]) == ([], 0.0)


if __name__ == "__main__":
    beam, *ways = sys.argv[1:]
    count, differ, apart = compared([way.split("-") for way in ways], (int(beam),), SIZES)
    print(json.dumps({"count": count, "differ": differ, "apart": apart}))
