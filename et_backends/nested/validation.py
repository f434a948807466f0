"""Validation of nested programs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from et_vm.run.validation import validate

if TYPE_CHECKING:
    from et_schema.errors import ExecutorchError
    from et_vm.kernels.registry import KernelRegistry

__all__ = ["errors"]


def errors(
    blob: memoryview, kernels: KernelRegistry | None, named: Mapping[str, memoryview]
) -> Iterator[ExecutorchError]:
    """The errors of the program that a blob is, which runs with `kernels`."""
    del named
    found = validate(blob, kernels)
    yield from found.problems
    yield from found.clashes
