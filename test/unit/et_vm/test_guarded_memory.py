"""The guard pages of other tests: one byte beyond them ends the process, all bytes within can be used."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

SCRIPT = """
import ctypes, sys
from support.guarded_memory import GuardedPlatform, guarded_bytes
nbytes, at_end, place, by_platform = (int(one) for one in sys.argv[1:])
make = GuardedPlatform(at_end=bool(at_end)).allocate if by_platform else lambda n: guarded_bytes(n, at_end=bool(at_end))
memory = make(nbytes)
memory[:] = 1
assert int(memory.sum()) == nbytes
print("used", flush=True)
ctypes.c_char.from_address(memory.__array_interface__["data"][0] + place).value
print("read", flush=True)
"""


def run(nbytes: int, *, at_end: bool, place: int, by_platform: bool) -> subprocess.CompletedProcess[str]:
    numbers = map(str, (nbytes, int(at_end), place, int(by_platform)))
    return subprocess.run(
        [sys.executable, "-c", SCRIPT, *numbers],
        check=False,
        capture_output=True,
        text=True,
        env={"PYTHONPATH": os.pathsep.join(sys.path)},
    )


@pytest.mark.parametrize(("nbytes", "at_end", "by_platform"), [(8, True, False), (8192, False, True)])
def test_one_byte_outside(nbytes: int, at_end: bool, by_platform: bool) -> None:
    outside, inside = (nbytes, nbytes - 1) if at_end else (-1, 0)
    done = run(nbytes, at_end=at_end, place=outside, by_platform=by_platform)
    assert (done.returncode, done.stdout) == (-signal.SIGSEGV, "used\n"), done.stderr
    done = run(nbytes, at_end=at_end, place=inside, by_platform=by_platform)
    assert (done.returncode, done.stdout) == (0, "used\nread\n"), done.stderr
