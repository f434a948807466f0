"""Instructions that loading takes on an emulated Cortex-M4."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from support.micro_machine import run_on_cortex_m4
from support.vm_programs import Build

from et_schema.errors import Error


def instructions(folder: Path, count: int) -> int:
    """Of loading and executing a program with so many tensors without memory, and as many outputs."""
    build = Build()
    x, one = build.tensor(2), build.scalar(1)
    for tensor in [build.tensor(2, planned=False) for _ in range(count)]:
        build.move(one, tensor)
    build.inputs(x)
    build.outputs(x, *[one] * count)
    array = np.ones(2, np.float32)
    folder.mkdir()
    found = run_on_cortex_m4(folder, build.file(), array, array, count=True)
    assert found.error is Error.Ok
    return found.instructions


def test_loading_is_linear(tmp_path: Path) -> None:
    """Twice as many tensors take less than twice as many instructions, as some are the same for all programs: a search
    through pairs of tensors would outweigh these.
    """
    once, twice = (instructions(tmp_path / str(count), count) for count in (130, 260))
    assert twice < 2 * once
