"""Torch's samples of operators as compute shaders, each of which the standard's validator takes.

What the backend leaves runs on et-vm's kernels. Samples without a partition are not run: test_sweep.py is about these.
Where torch's result is NaN, that of a device may be anything: Vulkan does not ask for more.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import pytest
import torch
from sweep.compare import TIES, difference, same_elements
from sweep.reconstruct import FREE
from sweep.samples import Sample, entries, samples
from vulkan_device import check_shaders, require_device

from et_ir import ExecutorchBackendConfig, to_edge_transform_and_lower
from et_ir.backends.vulkan import VulkanPartitioner
from et_ir.frontend import UnsupportedProgram
from et_schema.pte import read_pte
from et_schema.vulkan import BACKEND, read_vulkan
from et_vm.interchange import to_torch
from et_vm.runtime import Runtime

OTHERS = 4
"""Of how many entries one has samples of integers and of bools too: what shaders convert is the same for all."""

CONFIG = ExecutorchBackendConfig(target="et-vm-aten")


def file_of(sample: Sample) -> bytes | None:
    """The sample's program; None where the backend takes nothing of it, or torch exports nothing."""
    with warnings.catch_warnings(action="ignore"):
        try:
            program = torch.export.export(sample.module, sample.inputs, strict=False)
        except Exception:
            return None  # test_sweep.py counts these
        try:
            made = to_edge_transform_and_lower(program, partitioner=VulkanPartitioner())
        except UnsupportedProgram:
            return None
        if not any(op.name == "backend.call" for op in made.module.walk()):
            return None
        return made.to_executorch(CONFIG).buffer


def wrong(sample: Sample, folder: Path) -> str | None:
    """The difference of the results from torch's."""
    file = file_of(sample)
    if file is None:
        return None
    pte = read_pte(file)
    for delegate in pte.program.execution_plan[0].delegates:
        if delegate.id == BACKEND:
            assert delegate.processed is not None
            check_shaders(read_vulkan(pte.delegate_data(delegate.processed)), folder)
    program = Runtime().load_program(file, allow_native=True, kernels="aten", poison=True)
    found: Sequence[Any] = program.load_method("forward").execute([one.clone() for one in sample.inputs])
    results = [to_torch(one) if isinstance(one, np.ndarray) else one for one in found]
    expected = [one.contiguous() if isinstance(one, torch.Tensor) else one for one in sample.results]
    if sample.entry.partition("-")[0] in TIES:
        pairs = zip(results, expected, strict=True)
        results = [want if same_elements(sample.inputs[0], got, want) else got for got, want in pairs]
    known = [_without_nan(got, want) for got, want in zip(results, expected, strict=True)]
    return difference(
        [got for got, _ in known],
        [want for _, want in known],
        random=sample.random or sample.entry in FREE,
        entry=sample.entry,
    )


def _without_nan(got: Any, want: Any) -> tuple[Any, Any]:
    """Both results with zeros where the second is NaN."""
    if not isinstance(want, torch.Tensor) or want.dtype != torch.float32 or got.shape != want.shape:
        return got, want
    known = ~want.isnan()
    return torch.where(known, got, 0.0), torch.where(known, want, 0.0)


@pytest.mark.sweep
@pytest.mark.parametrize("entry", entries())
def test_samples(entry: str, tmp_path: Path) -> None:
    require_device()
    others = ("i64", "bool") if crc32(entry.encode()) % OTHERS == 0 else ()
    found = {
        str(sample): reason
        for dtype in ("f32", *others)
        for sample in samples(entry, dtype, limit=1)
        if (reason := wrong(sample, tmp_path)) is not None
    }
    assert not found
