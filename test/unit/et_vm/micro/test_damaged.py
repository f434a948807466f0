"""Damaged files on the runtime in C: every access between guard pages, undefined behaviour ends the process.

That a file is refused with the code that et_vm has for it, and that outputs are the same, is what `fuzz.micro` checks.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

TEST = Path(__file__).parents[3]
CASES = 1_200


@pytest.mark.slow
def test_damaged_files():
    command = [sys.executable, "-W", "ignore", "-m", "fuzz.micro", "--count", str(CASES)]
    paths = os.pathsep.join((str(TEST), str(TEST.parent), os.environ.get("PYTHONPATH", "")))
    done = subprocess.run(
        command,
        cwd=TEST,
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr[-300:]
    lines = [line.split(maxsplit=1) for line in done.stdout.splitlines()]
    counts = {name: int(count.replace(",", "")) for count, name in lines}
    # That these are there says that the cases reach the loop, and the checks before it.
    assert counts["both ran"] > CASES // 50
    assert counts["refused InvalidProgram"] > CASES // 10
