"""No access outside of tensors, constants, arena and context: guard pages around all of them, in another process.

Each case gives the same bits on one, two and three threads, wherever its memory is.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from et_backends.codegen.object_code import INSTRUCTION_SETS
from et_vm.backends.cpu import cpu_features

SETS = [name for name, one in INSTRUCTION_SETS.items() if cpu_features().issuperset(one.cpu_flags)]


def run(*line: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "support.native_guarded_runs", *line],
        check=False,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )


@pytest.mark.parametrize("name", SETS)
def test_guarded_runs(name: str) -> None:
    done = run(name)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.endswith("done\n")


def test_an_access_outside_ends_the_process() -> None:
    done = run(SETS[0], "--shrink")
    assert "with too small an arena" in done.stdout
    assert done.returncode == -signal.SIGSEGV, done.stdout + done.stderr
