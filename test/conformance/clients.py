"""Third-party clients from PyPI in a folder apart: they pin other versions of packages of the tests.

`make clients` makes `.venv-clients`; the variable `CLIENTS` names another folder.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

__all__ = ["answer_of"]

_ROOT = Path(__file__).parents[2]


def _folder() -> Path:
    """The folder with the packages. Without it, a test fails in CI and is skipped elsewhere."""
    place = Path(os.environ.get("CLIENTS", _ROOT / ".venv-clients"))
    if not (place / "optimum").exists():
        message = f"no clients in {place}: run `make clients`, or set CLIENTS"
        if os.environ.get("CI"):
            pytest.fail(message)
        pytest.skip(message)
    return place


def answer_of(script: str, *arguments: str | Path) -> Any:
    """What a script prints last, as JSON, in a process that sees the clients beside this environment's packages."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", script, *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": str(_folder())},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])
