"""Routes of samples through back ends: what a back end leaves runs on et-vm's kernels, with dead memory poisoned.

Samples of which a back end takes nothing are not run: the route `kernels` is about these.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from et_ir import EdgeProgramManager, ExecutorchBackendConfig
from et_ir.delegation.partitioner import Partitioner
from et_ir.frontend import UnsupportedProgram
from et_schema.errors import ExecutorchError
from et_vm.interchange import to_torch
from et_vm.runtime import Runtime
from sweep.compare import TIES, difference, same_elements
from sweep.exactness import is_accurate
from sweep.programs import NotExported, SamplePrograms
from sweep.reconstruct import FREE
from sweep.samples import Sample, samples

__all__ = ["CONFIG", "Delegates", "differs", "execute"]

CONFIG = ExecutorchBackendConfig(target="et-vm-aten")


class Delegates:
    """Samples of an entry, by element type, lowered with a partitioner and executed.

    With `delegated`, no more are run of a type when so many had a partition. `check` gets each file that runs, and a
    folder. `left` has entries of which nothing is delegated, by the reason, where all such entries are known. Of
    `refused`, entries and types whose samples et-vm does not load, the message is checked.
    """

    def __init__(
        self,
        partitioner: Callable[[], Partitioner],
        limits: Mapping[str, int],
        *,
        is_claimed: Callable[[str], bool] = lambda entry: True,
        limits_of: Callable[[str], Mapping[str, int]] | None = None,
        check: Callable[[bytes, Path], None] | None = None,
        delegated: int | None = None,
        left: Mapping[str, frozenset[str]] | None = None,
        refused: Mapping[tuple[str, str], str] | None = None,
        require: Callable[[], None] = lambda: None,
    ) -> None:
        self.partitioner = partitioner
        self.limits_of = limits_of or (lambda entry: limits)
        self.takes = is_claimed
        self.check = check
        self.delegated = delegated
        self.left = left
        self.refused = refused or {}
        self.require = require

    def wrong(self, entry: str, programs: SamplePrograms, folder: Path) -> list[str]:
        """The samples of an entry that are not computed as they should be, each with the difference."""
        self.require()
        wrong: list[str] = []
        partitioner, total = self.partitioner(), 0
        for dtype, limit in self.limits_of(entry).items():
            count = 0
            for sample in samples(entry, dtype, limit=limit):
                if count == self.delegated:
                    break
                lowered = lowered_with(partitioner, sample, programs)
                if lowered is None:
                    continue
                count += 1
                file = lowered.to_executorch(CONFIG).buffer
                if self.check is not None:
                    self.check(file, folder)
                reason = self._reason(sample, file)
                if reason is not None:
                    wrong.append(f"{sample}: {reason}")
            total += count
        if self.left is not None and (total == 0) != any(entry in names for names in self.left.values()):
            wrong.append(f"{entry}: {total} samples are delegated, other than the list of what is left says")
        return wrong

    def _reason(self, sample: Sample, file: bytes) -> str | None:
        message = self.refused.get((sample.entry, sample.dtype))
        if message is None:
            return differs(execute(file, sample), sample.results, sample)
        try:
            execute(file, sample)
        except ExecutorchError as error:
            return None if message in str(error) else f"refused, but not as expected: {error}"
        return f"expected to be refused: {message}"


def lowered_with(
    partitioner: Partitioner, sample: Sample, programs: SamplePrograms
) -> EdgeProgramManager | None:
    """The sample's program; None where the backend takes nothing of it, or where there is none."""
    try:
        lowered = programs.lowered(sample, partitioner)
    except (NotExported, UnsupportedProgram):
        return None
    return lowered if any(op.name == "backend.call" for op in lowered.module.walk()) else None


def execute(file: bytes, sample: Sample, threads: int = 1) -> list[Any]:
    """The results of a file on et-vm with torch's kernels."""
    program = Runtime(threads=threads).load_program(file, allow_native=True, kernels="aten", poison=True)
    found: list[Any] = program.load_method("forward").execute([one.clone() for one in sample.inputs])
    return [to_torch(one) if isinstance(one, np.ndarray) else one for one in found]


def differs(found: Sequence[Any], wanted: Sequence[Any], sample: Sample) -> str | None:
    """The difference of results from those that are wanted. Where these are NaN, back ends may give anything."""
    expected = [one.contiguous() if isinstance(one, torch.Tensor) else one for one in wanted]
    results = list(found)
    if sample.entry.partition("-")[0] in TIES:
        results = [
            want if same_elements(sample.inputs[0], got, want) else got
            for got, want in zip(results, expected, strict=True)
        ]
    pairs = [_without_nan(got, want) for got, want in zip(results, expected, strict=True)]
    reason = difference(
        [got for got, _ in pairs],
        [want for _, want in pairs],
        random=sample.random or sample.entry in FREE,
        entry=sample.entry,
    )
    return None if reason is not None and is_accurate(sample, results) else reason


def _without_nan(got: Any, want: Any) -> tuple[Any, Any]:
    """Both results with zeros where the second is NaN."""
    if not isinstance(want, torch.Tensor) or want.dtype != torch.float32 or got.shape != want.shape:
        return got, want
    known = ~want.isnan()
    return torch.where(known, got, 0.0), torch.where(known, want, 0.0)
