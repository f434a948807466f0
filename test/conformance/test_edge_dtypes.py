"""The table of element types is what the installed torch takes and gives, on every CPU."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

CPUS = {
    "uncapped": {},
    "no vectors": {"ATEN_CPU_CAPABILITY": "default", "ONEDNN_MAX_CPU_ISA": "SSE41"},
}
"""Variables that keep torch's kernels and oneDNN from instructions of the CPU. torch reads them as it is imported."""


@pytest.mark.slow
@pytest.mark.parametrize("cpu", CPUS)
def test_table_is_current(cpu: str) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "dev.dtype_probe", "--check"],
        check=False,
        env=os.environ | CPUS[cpu],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
