"""The route of samples as objects for processors, in emulators: all that there is a kernel for.

Each runs between guard pages, and its use of the stack is measured.
"""

from __future__ import annotations

from pathlib import Path
from zlib import crc32

import freestanding_machines as machines
import numpy as np
import torch

from et_backends.freestanding.compiler.programs import FreestandingObject, compile_program
from et_backends.freestanding.compiler.whole_program import UnsupportedProgram
from et_ir.frontend import UnsupportedProgram as NotImported
from sweep.compare import TIES, difference, same_elements
from sweep.exactness import is_accurate
from sweep.programs import NotExported, SamplePrograms
from sweep.reconstruct import FREE
from sweep.samples import Sample, samples

__all__ = ["FreestandingObjects"]

PROCESSORS = ("cortex-m4", "riscv64gc", "cortex-m4", "aarch64")
"""By the hash of a sample. Two of them compute in float64."""
DTYPES = ("f32", "i64", "bool")
"""The first that an entry has."""
COMPILED = frozenset({"add", "nn.functional.conv2d", "matmul", "sigmoid", "sum", "where"})
"""Entries that have an object: others may need a runtime."""


class FreestandingObjects:
    """A sample of an entry as an object."""

    def takes(self, entry: str) -> bool:
        del entry
        return True

    def wrong(self, entry: str, programs: SamplePrograms, folder: Path) -> list[str]:
        """The difference of the object's results from torch's, if there is one."""
        sample = _sample_of(entry)
        if sample is None:
            return []  # of complex numbers only, or without elements
        target = PROCESSORS[crc32(str(sample).encode()) % len(PROCESSORS)]
        made = _object_of(sample, target, programs)
        if made is None:
            return [f"{sample}, {target}: no object"] if entry in COMPILED else []
        reason = _reason(sample, made, target, folder)
        return [] if reason is None else [f"{sample}, {target}: {reason}"]


def _sample_of(entry: str) -> Sample | None:
    """A sample with elements, as empty tensors are refused; of numbers that processors compute with."""
    found = (one for dtype in DTYPES for one in samples(entry, dtype, limit=4))
    return next((one for one in found if all(x.numel() for x in one.inputs)), None)


def _object_of(sample: Sample, target: str, programs: SamplePrograms) -> FreestandingObject | None:
    """The sample's object; None where it needs a runtime, or torch exports nothing."""
    try:
        return compile_program(programs.module(sample).clone(), target, "op")
    except (NotExported, UnsupportedProgram, NotImported):
        return None


def _reason(sample: Sample, made: FreestandingObject, target: str, folder: Path) -> str | None:
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
    random = sample.random or sample.entry in FREE
    reason = difference(results, expected, random=random, entry=sample.entry)
    return None if reason is not None and is_accurate(sample, results) else reason
