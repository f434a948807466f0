"""Validation of TOSA graphs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from et_backends.tosa.format.blob import read_tosa
from et_backends.tosa.runtime.program import TosaProgram
from et_schema.errors import ExecutorchError
from et_vm.backends.accounting import Accountant
from et_vm.platform import Platform
from et_vm.work import WorkMeter

if TYPE_CHECKING:
    from et_vm.kernels.registry import KernelRegistry

__all__ = ["errors"]

_DERIVED: Final = 64
"""Bytes, and units of work, for each byte of a blob whose operators derive data from constants of their own."""
_LEAST: Final = 1 << 29
"""These for any blob."""


def errors(blob: memoryview, kernels: KernelRegistry | None) -> Iterator[ExecutorchError]:
    """The error of a graph, if it has one, within limits: operators that share constants may derive from these any
    multiple of the blob.
    """
    del kernels
    most = _LEAST + _DERIVED * len(blob)
    try:
        TosaProgram(read_tosa(blob), Accountant(Platform(memory_limit=most), WorkMeter(most)))
    except ExecutorchError as error:
        yield error
