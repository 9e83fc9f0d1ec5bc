"""A page sends pictures and sounds; it cannot read files of the machine that serves it by naming them."""

from types import SimpleNamespace

import numpy as np
import pytest

from regard.data import png
from regard.question import Image, Question
from regard.studio.checks import check_files
from regard.studio.refusal import Refusal
from tests.tasks.kit import EXAMPLES, task_of

PICTURE = png.url(np.zeros((4, 4, 1), np.uint8))


def predictor(name, *examples):
    probes = [(own, "") for own in examples]
    return SimpleNamespace(run=SimpleNamespace(task=task_of(name), probes=lambda: probes))


@pytest.mark.parametrize("name", ["caption", "transcribe"])
@pytest.mark.parametrize(
    "question", ["/etc/passwd", "../secret.png", '{"image": "a.png"}', '{"sound": "a.wav"}']
)
def test_a_file_of_this_machine_is_not_read(name, question):
    with pytest.raises(Refusal) as refused:
        check_files(predictor(name), question)
    assert "cannot be named here" in refused.value.what


@pytest.mark.parametrize("name", ["caption", "transcribe"])
def test_what_is_sent_and_what_the_run_learned_from_is_answered(name):
    for example in EXAMPLES[name]:
        check_files(predictor(name), task_of(name).question(example))
    check_files(predictor(name, "photos/dog.png"), "photos/dog.png")
    check_files(predictor("caption"), PICTURE, Question({"source": Image(PICTURE)}))


def test_a_text_that_looks_like_a_path_is_a_text():
    check_files(predictor("translate"), "/etc/passwd")
