"""The runs that tests of `run` share, too."""

from tests.run.conftest import _one_thread, folder, predictor  # noqa: F401
