"""The examples of operators are what the generator makes with the installed torch."""

import subprocess
import sys

import pytest


@pytest.mark.slow
def test_examples_are_current() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "dev.examples", "--check"],
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
