"""Verification of delegate blobs in the formats of the installed backends."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from et_schema.errors import ExecutorchError
    from et_vm.kernels.registry import KernelRegistry

__all__ = ["blob_problems"]


def blob_problems(file: memoryview, kernels: KernelRegistry | None) -> Iterator[ExecutorchError]:
    """The problems of the blobs in a file that is a good one besides, with their places in the file and in the blob.
    Each blob is looked at once; a program that is one runs with `kernels`.
    """
    from et_schema.backend_packages import backend_packages
    from et_schema.pte import read_pte

    readers, validators = (backend_packages().places(part) for part in ("read", "validate"))
    pte = read_pte(file)
    named = pte.named_data()
    seen: set[tuple[int, int]] = set()
    for index, plan in enumerate(pte.program.execution_plan):
        for at, delegate in enumerate(plan.delegates):
            reference = delegate.processed
            if reference is None or (reference.location, reference.index) in seen:
                continue
            seen.add((reference.location, reference.index))
            blob = pte.delegate_data(reference)
            problems = _problems(blob, kernels, named, readers.get(delegate.id), validators.get(delegate.id))
            for problem in problems:
                inside = f", {problem.where}" if problem.where else ""
                problem.where = f"execution_plan[{index}].delegates[{at}]{inside}"
                yield problem


def _problems(
    blob: memoryview,
    kernels: KernelRegistry | None,
    named: Mapping[str, memoryview],
    read: str | None,
    validate: str | None,
) -> Iterator[ExecutorchError]:
    """The problems of a blob, by the places of what reads and validates it."""
    from et_schema.backend_packages import load_part
    from et_schema.errors import ExecutorchError

    try:
        if read is not None:
            load_part(read)(blob)
    except ExecutorchError as error:
        yield error
        return
    if validate is not None:
        yield from load_part(validate)(blob, kernels, named)
