"""The route of samples as machine code: as they are, channels last, and with NaN and infinities.

What the native backend leaves runs on et-vm's kernels, so each sample with a partition tests machine code and the
border to it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from zlib import crc32

import torch
from torch.utils import _pytree as pytree

from et_backends.codegen.object_code import INSTRUCTION_SETS
from et_backends.native.compiler import NativePartitioner
from et_schema.errors import ExecutorchError
from et_vm.backends.cpu import cpu_features
from sweep.compare import TIES, difference, same_elements
from sweep.delegates import CONFIG, execute, lowered_with
from sweep.exactness import is_accurate
from sweep.programs import SamplePrograms
from sweep.reconstruct import FREE
from sweep.samples import Sample, samples

__all__ = ["MachineCode"]

SETS = [name for name, one in INSTRUCTION_SETS.items() if cpu_features().issuperset(one.cpu_flags)]
SAMPLES = {"f32": 3, "i64": 1, "bool": 1}
"""Samples of each entry by element type."""

SPECIAL = torch.tensor([float("nan"), float("inf"), float("-inf"), -0.0, 1e-40])
WELFORD = {"native_batch_norm", "native_group_norm", "native_layer_norm"}
"""Entries whose means torch computes by differences: of infinities they are NaN, where a sum is infinite."""
CONVERSIONS = {"byte", "char", "int", "long", "short", "to", "type_as"}
"""Entries that make integers of floats: torch does not say which of NaN and infinities."""
EVERY = 5
"""Of how many elements one is such a number."""


class MachineCode:
    """Samples of an entry as machine code, each for one of this machine's instruction sets, on one thread or two."""

    def takes(self, entry: str) -> bool:
        del entry
        return True

    def wrong(self, entry: str, programs: SamplePrograms, folder: Path) -> list[str]:
        """The samples and variants that are not computed as torch does, each with the difference."""
        del folder
        wrong: list[str] = []
        for dtype, limit in SAMPLES.items():
            for sample in samples(entry, dtype, limit=limit):
                name = SETS[crc32(str(sample).encode()) % len(SETS)]
                partitioner = NativePartitioner(instruction_sets=[name])
                files: dict[bool, bytes | None] = {}
                for label, variant in variants(sample):
                    # The special numbers are those of the contiguous inputs: their program is the same.
                    is_other = label == "channels last"
                    if is_other not in files:
                        lowered = lowered_with(partitioner, variant, programs)
                        files[is_other] = None if lowered is None else lowered.to_executorch(CONFIG).buffer
                    file = files[is_other]
                    threads = 1 + crc32(f"{variant} {label}".encode()) % 2
                    reason = None if file is None else _reason(label, variant, file, threads, programs)
                    if reason is not None:
                        wrong.append(f"{variant}, {label}, {name}, {threads} threads: {reason}")
        return wrong


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


def _one_by_one(sample: Sample, programs: SamplePrograms) -> tuple[Any, ...]:
    """The results of torch's kernels for each operator of the lowered program.

    Decompositions give other infinities and NaN than the operators that they are of.
    """
    return tuple(execute(programs.edge(sample).to_executorch(CONFIG).buffer, sample))


def _reason(label: str, sample: Sample, file: bytes, threads: int, programs: SamplePrograms) -> str | None:
    """The difference of the results from torch's."""
    expected: Sequence[Any] = sample.results
    if label == "special":
        try:
            expected = _one_by_one(sample, programs)
        except ExecutorchError:
            return None  # a kernel refuses such numbers, as an index
    results = execute(file, sample, threads)
    if sample.entry.partition("-")[0] in TIES:
        pairs = zip(results, expected, strict=True)
        results = [want if same_elements(sample.inputs[0], got, want) else got for got, want in pairs]
    reason = _difference(results, expected, sample)
    if reason is not None and label == "special":
        # Torch's gelu(inf) is NaN in f32, and inf in f64.
        return None if _difference(results, _in_double(sample), sample) is None else reason
    return None if reason is not None and is_accurate(sample, results) else reason


def _in_double(sample: Sample) -> tuple[Any, ...]:
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
