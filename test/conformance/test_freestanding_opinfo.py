"""Torch's samples of operators as objects for processors, in emulators: all that there is a kernel for.

A sample that needs a runtime has no object; that there is one is asserted for some. Each runs between guard pages, and
its use of the stack is measured.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from zlib import crc32

import numpy as np
import pytest
import torch

sys.path.insert(0, str(Path(__file__).parents[1] / "unit" / "et_ir"))

import freestanding_machines as machines
from sweep.compare import TIES, difference, same_elements
from sweep.reconstruct import FREE
from sweep.samples import Sample, entries, samples

from et_ir.backends.freestanding.compiler import FreestandingObject, compile_program
from et_ir.backends.freestanding.whole_program import UnsupportedProgram
from et_ir.frontend import UnsupportedProgram as NotImported

PROCESSORS = ("cortex-m4", "riscv64gc", "cortex-m4", "aarch64")
"""By the hash of a sample. Two of them compute in float64."""
DTYPES = ("f32", "i64", "bool")
"""The first that an entry has."""


def sample_of(entry: str, *dtypes: str) -> Sample | None:
    """A sample with elements, as empty tensors are refused; of numbers that processors compute with."""
    found = (one for dtype in dtypes for one in samples(entry, dtype, limit=4))
    return next((one for one in found if all(x.numel() for x in one.inputs)), None)


def object_of(sample: Sample, target: str) -> FreestandingObject | None:
    """The sample's object; None where it needs a runtime, or torch exports nothing."""
    with warnings.catch_warnings(action="ignore"):
        try:
            program = torch.export.export(sample.module, sample.inputs, strict=False)
        except Exception:
            return None  # test_sweep.py counts these
        try:
            return compile_program(program, target, "op")
        except (UnsupportedProgram, NotImported):
            return None


def wrong(sample: Sample, made: FreestandingObject, target: str, folder: Path) -> str | None:
    """The difference of the object's results from torch's."""
    inputs = [
        np.ascontiguousarray(one.detach().numpy().transpose(tensor.dim_order))
        for one, tensor in zip(sample.inputs, made.interface.inputs, strict=True)
    ]
    found = machines.run(target, folder, made, inputs)
    if found.status:
        return f"the object returns {found.status}: {made.interface.messages[found.status - 1]}"
    if found.stack > made.stack_bytes:
        return f"{found.stack} bytes of the stack are used, the header says {made.stack_bytes}"
    results = [torch.from_numpy(one.copy()) for one in found.outputs]
    expected = [one.contiguous() if isinstance(one, torch.Tensor) else one for one in sample.results]
    if sample.entry.partition("-")[0] in TIES:
        pairs = zip(results, expected, strict=True)
        results = [want if same_elements(sample.inputs[0], got, want) else got for got, want in pairs]
    return difference(results, expected, random=sample.random or sample.entry in FREE, entry=sample.entry)


@pytest.mark.sweep
@pytest.mark.parametrize("entry", entries())
def test_samples(entry: str, tmp_path: Path) -> None:
    sample = sample_of(entry, *DTYPES)
    if sample is None:
        return  # of complex numbers only, or without elements
    target = PROCESSORS[crc32(str(sample).encode()) % len(PROCESSORS)]
    made = object_of(sample, target)
    reason = None if made is None else wrong(sample, made, target, tmp_path)
    assert reason is None, f"{sample}, {target}: {reason}"


@pytest.mark.parametrize("entry", ["add", "nn.functional.conv2d", "matmul", "sigmoid", "sum", "where"])
def test_there_is_an_object(entry: str) -> None:
    sample = sample_of(entry, "f32")
    assert sample is not None
    assert object_of(sample, "cortex-m4") is not None
