"""Validation of TOSA graphs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final

from et_backends.tosa.format.blob import block_of, read_tosa
from et_backends.tosa.runtime.program import TosaProgram
from et_schema.errors import ExecutorchError
from et_vm.backends.accounting import Accountant
from et_vm.platform import Platform
from et_vm.work import WorkMeter

if TYPE_CHECKING:
    from et_vm.kernels.registry import KernelRegistry

__all__ = ["errors"]

_DERIVED: Final = 64
"""Bytes, and units of work, for each byte of a blob and its named data, whose operators derive data from constants."""
_LEAST: Final = 1 << 29
"""These for any blob."""


def errors(
    blob: memoryview, kernels: KernelRegistry | None, named: Mapping[str, memoryview]
) -> Iterator[ExecutorchError]:
    """The error of a graph, if it has one, within limits: operators that share constants may derive from these any
    multiple of the blob. A graph with constants in a data file is not looked at: they are not in `named`.
    """
    del kernels
    graph = read_tosa(blob)
    keys = {
        tensor.variable_name for tensor in block_of(graph).tensors if not tensor.data and tensor.variable_name
    }
    if not keys <= named.keys():
        return
    most = _LEAST + _DERIVED * (len(blob) + sum(named[key].nbytes for key in keys))
    try:
        TosaProgram(graph, Accountant(Platform(memory_limit=most), WorkMeter(most)), named)
    except ExecutorchError as error:
        yield error
