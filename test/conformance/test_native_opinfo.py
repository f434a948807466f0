"""Torch's samples of operators as machine code: as they are, channels last, and with NaN and infinities.

What the native backend leaves runs on et-vm's kernels, so each sample with a partition tests machine code and the
border to it. Samples without one are not run: test_sweep.py is about these.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any
from zlib import crc32

import numpy as np
import pytest
import torch
from sweep.compare import TIES, difference, same_elements
from sweep.reconstruct import FREE
from sweep.samples import Sample, entries, samples
from torch.utils import _pytree as pytree

from et_ir import ExecutorchBackendConfig, to_edge_transform_and_lower
from et_ir.backends.native import NativePartitioner
from et_ir.codegen.object_code import INSTRUCTION_SETS
from et_ir.frontend import UnsupportedProgram
from et_schema.errors import ExecutorchError
from et_vm.backends.native.cpu import cpu_features
from et_vm.interchange import to_torch
from et_vm.runtime import Runtime

SETS = [name for name, one in INSTRUCTION_SETS.items() if cpu_features().issuperset(one.cpu_flags)]
SAMPLES = {"f32": 3, "i64": 1, "bool": 1}
"""Samples of each entry by element type."""

CONFIG = ExecutorchBackendConfig(target="et-vm-aten")

SPECIAL = torch.tensor([float("nan"), float("inf"), float("-inf"), -0.0, 1e-40])
WELFORD = {"native_batch_norm", "native_group_norm", "native_layer_norm"}
"""Entries whose means torch computes by differences: of infinities they are NaN, where a sum is infinite."""
CONVERSIONS = {"byte", "char", "int", "long", "short", "to", "type_as"}
"""Entries that make integers of floats: torch does not say which of NaN and infinities."""
EVERY = 5
"""Of how many elements one is such a number."""


def variants(sample: Sample) -> Iterator[tuple[str, Sample]]:
    """The sample, the same with its images channels last, and with special numbers among its elements."""
    yield "as it is", sample
    if any(one.dim() == 4 for one in sample.inputs):
        last = tuple(
            one.contiguous(memory_format=torch.channels_last) if one.dim() == 4 else one
            for one in sample.inputs
        )
        yield "channels last", replace(sample, inputs=last)
    if (
        sample.dtype == "f32"
        and not sample.random
        and sample.inputs
        and sample.entry not in WELFORD | CONVERSIONS
    ):
        special = tuple(_with_special(one, number) for number, one in enumerate(sample.inputs))
        yield "special", replace(sample, inputs=special)


def _with_special(tensor: torch.Tensor, offset: int) -> torch.Tensor:
    """The tensor with special numbers at some of its places: others for each offset."""
    if tensor.dtype != torch.float32 or not tensor.dim():
        return tensor
    made = tensor.clone()
    places = made.view(-1)[offset::EVERY]
    places.copy_(SPECIAL.repeat(places.numel() // len(SPECIAL) + 1)[: places.numel()])
    return made


def file_of(sample: Sample, instruction_set: str) -> bytes | None:
    """The sample's program; None where the backend takes nothing of it, or torch exports nothing."""
    with warnings.catch_warnings(action="ignore"):
        try:
            program = torch.export.export(sample.module, sample.inputs, strict=False)
        except Exception:
            return None  # test_sweep.py counts these
        partitioner = NativePartitioner(instruction_sets=[instruction_set])
        try:
            made = to_edge_transform_and_lower(program, partitioner=partitioner)
        except UnsupportedProgram:
            return None
        if not any(op.name == "backend.call" for op in made.module.walk()):
            return None
        return made.to_executorch(CONFIG).buffer


def one_by_one(sample: Sample) -> tuple[Any, ...]:
    """The results of torch's kernels for each operator of the lowered program.

    Decompositions give other infinities and NaN than the operators that they are of.
    """
    with warnings.catch_warnings(action="ignore"):
        program = torch.export.export(sample.module, sample.inputs, strict=False)
        file = to_edge_transform_and_lower(program).to_executorch(CONFIG).buffer
    return tuple(execute(file, sample, threads=1))


def execute(file: bytes, sample: Sample, threads: int) -> list[Any]:
    """The results of a file on et-vm with torch's kernels."""
    program = Runtime(threads=threads).load_program(file, allow_native=True, kernels="aten", poison=True)
    found: list[Any] = program.load_method("forward").execute([one.clone() for one in sample.inputs])
    return [to_torch(one) if isinstance(one, np.ndarray) else one for one in found]


def wrong(label: str, sample: Sample, file: bytes, threads: int) -> str | None:
    """The difference of the results from torch's."""
    expected: Sequence[Any] = sample.results
    if label == "special":
        try:
            expected = one_by_one(sample)
        except ExecutorchError:
            return None  # a kernel refuses such numbers, as an index
    results = execute(file, sample, threads)
    if sample.entry.partition("-")[0] in TIES:
        pairs = zip(results, expected, strict=True)
        results = [want if same_elements(sample.inputs[0], got, want) else got for got, want in pairs]
    reason = _difference(results, expected, sample)
    if reason is not None and label == "special":
        # Torch's gelu(inf) is NaN in f32, and inf in f64.
        return None if _difference(results, in_double(sample), sample) is None else reason
    return reason


def in_double(sample: Sample) -> tuple[Any, ...]:
    """The sample's results computed in float64, as float32."""
    given = (one.double() if one.dtype == torch.float32 else one.clone() for one in sample.inputs)
    with torch.no_grad():
        found = pytree.tree_leaves(sample.module(*given))
    return tuple(
        one.float() if isinstance(one, torch.Tensor) and one.dtype == torch.float64 else one for one in found
    )


def _difference(found: Sequence[Any], wanted: Sequence[Any], sample: Sample) -> str | None:
    expected = [one.contiguous() if isinstance(one, torch.Tensor) else one for one in wanted]
    random = sample.random or sample.entry in FREE
    return difference(found, expected, random=random, entry=sample.entry)


@pytest.mark.sweep
@pytest.mark.parametrize("entry", entries())
def test_samples(entry: str) -> None:
    failures: list[str] = []
    for dtype, limit in SAMPLES.items():
        for sample in samples(entry, dtype, limit=limit):
            # One set, which differs from sample to sample.
            name = SETS[crc32(str(sample).encode()) % len(SETS)]
            files: dict[bool, bytes | None] = {}
            for label, variant in variants(sample):
                # The special numbers are those of the contiguous inputs: their program is the same.
                is_other = label == "channels last"
                if is_other not in files:
                    files[is_other] = file_of(variant, name)
                file = files[is_other]
                threads = 1 + crc32(f"{variant} {label}".encode()) % 2
                reason = None if file is None else wrong(label, variant, file, threads)
                if reason is not None:
                    failures.append(f"{variant}, {label}, {name}, {threads} threads: {reason}")
    assert not failures, "\n".join(failures)
