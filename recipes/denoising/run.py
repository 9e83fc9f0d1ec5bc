"""How much an autoencoder gives back of sentences as they are, out of order, and with a word left out.

    regard train -p hill2016 -o runs/denoising
    regard train -p hill2016 -s model.noise.drop=0 -s model.noise.shuffle=0 -o runs/plain
    python recipes/denoising/run.py runs/denoising runs/plain

Each run is asked 300 test sentences of the toy `sentences` in three forms, damaged by one fixed seed.
"""

from __future__ import annotations

import sys
from random import Random

from regard.answer.predictor import Predictor
from regard.data.toys import toy

SENTENCES, SEED = 300, 5


def swapped(text: str, generator: Random) -> str:
    """Two neighbours change places."""
    words = text.split()
    first = generator.randrange(len(words) - 1)
    words[first : first + 2] = reversed(words[first : first + 2])
    return " ".join(words)


def dropped(text: str, generator: Random) -> str:
    """One word is left out."""
    words = text.split()
    del words[generator.randrange(len(words))]
    return " ".join(words)


def main(runs: list[str]) -> None:
    """One line a run and form: the task's own measures."""
    right = [example.text for example in toy("sentences").examples("test", SENTENCES)]
    generator = Random(SEED)
    forms = {
        "as they are": right,
        "two neighbours swapped": [swapped(text, generator) for text in right],
        "one word dropped": [dropped(text, generator) for text in right],
    }
    for run in runs:
        predictor = Predictor.load(run, "cpu")
        for form, questions in forms.items():
            answers = [answer.text for answer in predictor.predict(questions)]
            found = predictor.run.task.judge(answers, right)
            said = ", ".join(f"{metric.name} {metric.value:.1f}" for metric in found)
            print(f"{run}   {form:24} {said}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
