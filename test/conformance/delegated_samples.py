"""Torch's samples of operators through a backend on et-vm, compared with torch's results.

What the backend leaves runs on et-vm's kernels. Samples without a partition are not run: test_sweep.py is about these.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from sweep.compare import TIES, difference, same_elements
from sweep.reconstruct import FREE
from sweep.samples import Sample, samples

from et_ir import ExecutorchBackendConfig, to_edge_transform_and_lower
from et_ir.delegation.partitioner import Partitioner
from et_ir.frontend import UnsupportedProgram
from et_vm.interchange import to_torch
from et_vm.runtime import Runtime

CONFIG = ExecutorchBackendConfig(target="et-vm-aten")


def wrong_samples(
    entry: str,
    limits: Mapping[str, int],
    partitioner: Partitioner,
    check: Callable[[bytes], None] = lambda file: None,
    delegated: int | None = None,
) -> dict[str, str]:
    """The samples of an entry that are not computed right, each with the difference.

    `limits` has the number of samples by element type; with `delegated`, no more are run of a type when so many had a
    partition. Each file is given to `check` before it runs.
    """
    wrong: dict[str, str] = {}
    for dtype, limit in limits.items():
        count = 0
        for sample in samples(entry, dtype, limit=limit):
            if count == delegated:
                break
            file = _file_of(sample, partitioner)
            if file is None:
                continue
            count += 1
            check(file)
            reason = _difference(sample, file)
            if reason is not None:
                wrong[str(sample)] = reason
    return wrong


def _file_of(sample: Sample, partitioner: Partitioner) -> bytes | None:
    """The sample's program; None where the backend takes nothing of it, or torch exports nothing."""
    with warnings.catch_warnings(action="ignore"):
        try:
            program = torch.export.export(sample.module, sample.inputs, strict=False)
        except Exception:
            return None  # test_sweep.py counts these
        try:
            made = to_edge_transform_and_lower(program, partitioner=partitioner)
        except UnsupportedProgram:
            return None
        if not any(op.name == "backend.call" for op in made.module.walk()):
            return None
        return made.to_executorch(CONFIG).buffer


def _difference(sample: Sample, file: bytes) -> str | None:
    program = Runtime().load_program(file, allow_native=True, kernels="aten", poison=True)
    found: Sequence[Any] = program.load_method("forward").execute([one.clone() for one in sample.inputs])
    results = [to_torch(one) if isinstance(one, np.ndarray) else one for one in found]
    expected = [one.contiguous() if isinstance(one, torch.Tensor) else one for one in sample.results]
    if sample.entry.partition("-")[0] in TIES:
        results = [
            want if same_elements(sample.inputs[0], got, want) else got
            for got, want in zip(results, expected, strict=True)
        ]
    pairs = [_without_nan(got, want) for got, want in zip(results, expected, strict=True)]
    return difference(
        [got for got, _ in pairs],
        [want for _, want in pairs],
        random=sample.random or sample.entry in FREE,
        entry=sample.entry,
    )


def _without_nan(got: Any, want: Any) -> tuple[Any, Any]:
    """Both results with zeros where the second is NaN: there, backends say nothing."""
    if not isinstance(want, torch.Tensor) or want.dtype != torch.float32 or got.shape != want.shape:
        return got, want
    known = ~want.isnan()
    return torch.where(known, got, 0.0), torch.where(known, want, 0.0)
