"""Torch's samples of operators as models for OpenVINO.

What the backend leaves runs on et-vm's kernels. Samples without a partition are not run: test_sweep.py is about these.
Where torch's result is NaN, OpenVINO's may be anything: its relu, clamp, maximum and exp give numbers for NaN.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import torch
from sweep.compare import difference
from sweep.reconstruct import FREE
from sweep.samples import Sample, entries, samples

from et_ir import ExecutorchBackendConfig, to_edge_transform_and_lower
from et_ir.backends.openvino import OpenvinoPartitioner, blob, export_model
from et_ir.frontend import UnsupportedProgram
from et_vm.interchange import to_torch
from et_vm.runtime import Runtime

SAMPLES = {"f32": 2, "bool": 1}
"""Samples of each entry by element type."""


@pytest.fixture(autouse=True)
def _compiled_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """No process for each model: that changes the names of nodes alone."""
    monkeypatch.setattr(blob, "export_apart", export_model.export)


CONFIG = ExecutorchBackendConfig(target="et-vm-aten")


def file_of(sample: Sample) -> bytes | None:
    """The sample's program; None where the backend takes nothing of it, or torch exports nothing."""
    with warnings.catch_warnings(action="ignore"):
        try:
            program = torch.export.export(sample.module, sample.inputs, strict=False)
        except Exception:
            return None  # test_sweep.py counts these
        try:
            made = to_edge_transform_and_lower(program, partitioner=OpenvinoPartitioner())
        except UnsupportedProgram:
            return None
        if not any(op.name == "backend.call" for op in made.module.walk()):
            return None
        return made.to_executorch(CONFIG).buffer


def wrong(sample: Sample) -> str | None:
    """The difference of the results from torch's."""
    file = file_of(sample)
    if file is None:
        return None
    program = Runtime().load_program(file, allow_native=True, kernels="aten", poison=True)
    found: Sequence[Any] = program.load_method("forward").execute([one.clone() for one in sample.inputs])
    results = [to_torch(one) if isinstance(one, np.ndarray) else one for one in found]
    expected = [one.contiguous() if isinstance(one, torch.Tensor) else one for one in sample.results]
    pairs = [_without_nan(got, want) for got, want in zip(results, expected, strict=True)]
    return difference(
        [got for got, _ in pairs],
        [want for _, want in pairs],
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
def test_samples(entry: str) -> None:
    found = {
        str(sample): reason
        for dtype, limit in SAMPLES.items()
        for sample in samples(entry, dtype, limit=limit)
        if (reason := wrong(sample)) is not None
    }
    assert not found, "\n".join(f"{sample}: {reason}" for sample, reason in found.items())
