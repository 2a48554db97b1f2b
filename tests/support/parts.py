"""Parts a machine may lack: on a laptop their tests are passed over, in CI a missing part is a failure."""

import os

import pytest

IN_CI = bool(os.environ.get("CI"))


def missing(what: str) -> None:
    """This test cannot run here; say so, loudly where nothing may be left out."""
    if IN_CI:
        pytest.fail(f"missing: {what}")
    pytest.skip(what)
