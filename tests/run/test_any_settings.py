"""Whatever `train` accepts and writes, `train`, `predict` and `evaluate` read: settings drawn at random."""

import contextlib
import io
from pathlib import Path
from unittest.mock import patch

import pytest

from regard.answer.predictor import Predictor
from regard.answer.test_set import Exam
from regard.cli.main import status
from regard.config import parse, read_toml, to_toml
from regard.data.batches import BatchSettings
from regard.errors import DataError, DivergedError, MemoryLimitError, UsageError
from regard.run.find import read_settings
from regard.run.resolve import place
from regard.run.settings import RunSettings
from regard.training import train
from tests.run.any_settings import draw

ROUND_TRIPS = 500
LIVES = 500  # half a second each
SHARES = (0.03, 0.1, 0.3)  # of the settings that may be left out: many together exclude each other
REFUSALS = (UsageError, DataError, MemoryLimitError, DivergedError)


def accepted(seed: int, share: float = 0.5) -> RunSettings | None:
    """Settings that a person could have written; None where they are refused, in words."""
    try:
        return parse(RunSettings, draw(seed, share))
    except UsageError:
        return None


def test_settings_that_are_accepted_are_read_again_from_their_file(tmp_path):
    path, count, seed = tmp_path / "config.toml", 0, 0
    while count < ROUND_TRIPS:
        settings = accepted(seed := seed + 1)
        if settings is not None:
            path.write_text(to_toml(settings))
            assert parse(RunSettings, read_toml(path)) == settings, seed
            assert read_settings(path) == settings, seed
            count += 1
    assert seed < 5 * ROUND_TRIPS, "most that is drawn should be accepted"


@pytest.mark.parametrize("tokens", [1, 2, 100, 255, 256, 257, 4096])
def test_a_row_fits_into_a_batch_also_by_default(tokens):
    settings = BatchSettings(tokens=tokens)
    assert settings.max_length == min(tokens, 256)
    assert BatchSettings(**settings.model_dump()) == settings


def test_a_row_that_was_said_to_be_longer_than_a_batch_is_refused():
    with pytest.raises(UsageError) as refused:
        parse(BatchSettings, {"tokens": 100, "max_length": 101})
    assert "max_length = 101 is more than tokens = 100" in refused.value.what


def live(folder: Path, settings: RunSettings) -> None:
    """Train, go on, predict, evaluate; a run that diverges says so, and gives no model."""
    train(folder, settings, device="cpu")
    _, longer = place([folder], None, more={"train": {"steps": settings.train.steps + 1}})
    with contextlib.suppress(DivergedError):
        train(folder, longer, device="cpu")
    model = Predictor.load(folder, "cpu", note=lambda _: None)
    questions = Exam.of(model.run.settings, 2).questions(model.run.task)
    assert len(model.predict(questions, truncate=True)) == 2
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(out):
        code = status(["evaluate", str(folder), "--examples", "2", "--truncate", "--json"])
    assert code == 0, out.getvalue()


@pytest.mark.slow
@pytest.mark.parametrize("chunk", range(10))
def test_a_run_that_is_accepted_can_be_resumed_used_and_judged(tmp_path, chunk):
    count, seed, told = 0, 10_000 * chunk, {}
    with patch.dict("regard.data.toys.toy._COUNTS", {"train": 40, "valid": 5, "test": 3}):
        while count < LIVES // 10:
            seed += 1
            settings, folder = accepted(seed, SHARES[seed % 3]), tmp_path / str(seed)
            if settings is not None:
                try:
                    live(folder, settings)
                    count += 1
                except REFUSALS:  # then there is nothing to read
                    told.update({seed: (folder / "model.safetensors").exists()})
    assert not any(told.values()), told
