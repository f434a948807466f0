"""Torch's samples of operators as compute shaders, each of which the standard's validator takes.

Where torch's result is NaN, that of a device may be anything: Vulkan does not ask for more.
"""

from __future__ import annotations

from pathlib import Path
from zlib import crc32

import pytest
from delegated_samples import wrong_samples
from sweep.samples import entries
from vulkan_device import check_shaders, require_device

from et_ir.backends.vulkan import VulkanPartitioner
from et_schema.pte import read_pte
from et_schema.vulkan import BACKEND, read_vulkan

OTHERS = 4
"""Of how many entries one has samples of integers and of bools too: what shaders convert is the same for all."""


@pytest.mark.sweep
@pytest.mark.parametrize("entry", entries())
def test_samples(entry: str, tmp_path: Path) -> None:
    require_device()

    def check(file: bytes) -> None:
        pte = read_pte(file)
        for delegate in pte.program.execution_plan[0].delegates:
            if delegate.id == BACKEND:
                assert delegate.processed is not None
                check_shaders(read_vulkan(pte.delegate_data(delegate.processed)), tmp_path)

    others = ("i64", "bool") if crc32(entry.encode()) % OTHERS == 0 else ()
    found = wrong_samples(entry, dict.fromkeys(("f32", *others), 1), VulkanPartitioner(), check)
    assert not found, "\n".join(f"{sample}: {reason}" for sample, reason in found.items())
