"""A `.pte` file of one kernel call, to ask two runtimes what their kernels take.

A compiler emits few of the calls that a file can hold: another element type or layout of `out`, a number that the
type cannot hold, a flag that no program sets. Such files are built register by register.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import ml_dtypes
import numpy as np
import torch
from kernel_oracle import SCALAR_TYPES, bytes_of, dim_order
from stock import StockError, StockRuntime
from support.vm_programs import Build

from et_schema.errors import ExecutorchError
from et_vm.program import Program


@dataclass(frozen=True)
class KernelCall:
    """A call of the out variant `operator`; `outs` have the element types, shapes and layouts of its outputs."""

    operator: str
    arguments: tuple[object, ...]
    outs: tuple[torch.Tensor, ...]
    list_of_outs: bool = False
    """Whether the schema has the outputs as one `Tensor[]`."""
    overwrites: bool = False
    """Whether the schema has no output: the call writes its first argument, which is the result."""

    def file(self) -> bytes:
        """The program that consists of the call. Arguments are constants of the file."""
        build = Build()
        optional = _optional_lists(self.operator)
        registers = [
            _list(build, argument, optional=at in optional)
            if isinstance(argument, list | tuple)
            else _register(build, argument)
            for at, argument in enumerate(self.arguments)
        ]
        if self.overwrites:
            target = self.arguments[0]
            assert isinstance(target, torch.Tensor)
            registers[0] = _copy_of(build, target, registers[0])
            outs = [registers[0]]
            returned = outs
        else:
            outs = [_planned(build, out) for out in self.outs]
            grouped = [build.tensors(*outs)] if self.list_of_outs else outs
            registers += grouped
            returned = grouped if len(grouped) == 1 else [build.tensors(*outs)]
        build.call(self.operator, *registers, *returned)
        build.outputs(*outs)
        return build.file()


def _register(build: Build, value: object) -> int:
    match value:
        case torch.Tensor():
            return _constant(build, value)
        case torch.dtype():
            return build.scalar(int(SCALAR_TYPES[value]))
        case bool() | int() | float() | str() | None:
            return build.scalar(value)
    raise TypeError(f"no value of a file: {value!r}")


def _optional_lists(operator: str) -> list[int]:
    """The positions of the arguments of type `Tensor?[]`."""
    namespace, name = operator.split("::")
    base, _, overload = name.partition(".")
    packet = getattr(getattr(torch.ops, namespace), base, None)
    schema = getattr(packet, overload or "default")._schema if packet is not None else None
    arguments = [] if schema is None else schema.arguments
    return [at for at, argument in enumerate(arguments) if str(argument.type) == "List[Optional[Tensor]]"]


def _list(build: Build, items: list[object] | tuple[object, ...], *, optional: bool) -> int:
    if optional or any(isinstance(item, torch.Tensor) for item in items):
        registers = [-1 if item is None else _register(build, item) for item in items]
        return build.tensors(*registers, optional=optional)
    if items and all(isinstance(item, bool) for item in items):
        return build.bools(*items)  # pyright: ignore[reportArgumentType] just looked at
    if any(isinstance(item, float) for item in items):
        return build.doubles(*items)  # pyright: ignore[reportArgumentType] numbers
    return build.ints(*items)  # pyright: ignore[reportArgumentType] ints are left


def _constant(build: Build, tensor: torch.Tensor) -> int:
    data = bytes_of(tensor)
    build.constant_offsets.append(len(build.constants))
    build.constants += data.tobytes() or bytes(1)
    build.constants += bytes(-len(build.constants) % 16)
    return build.tensor(
        *tensor.shape,
        dtype=SCALAR_TYPES[tensor.dtype],
        dim_order=dim_order(tensor),
        planned=False,
        data=len(build.constant_offsets) - 1,
    )


def _planned(build: Build, tensor: torch.Tensor) -> int:
    return build.tensor(*tensor.shape, dtype=SCALAR_TYPES[tensor.dtype], dim_order=dim_order(tensor))


def _copy_of(build: Build, tensor: torch.Tensor, constant: int) -> int:
    target = _planned(build, tensor)
    build.call("aten::copy_", target, constant, build.scalar(False), target)
    return target


def _as_torch(result: np.ndarray) -> torch.Tensor:
    if result.dtype == ml_dtypes.bfloat16:
        return torch.from_numpy(result.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(result)


def on_vm(file: bytes) -> list[torch.Tensor] | str:
    """The result of et-vm, or the message with which it refuses."""
    try:
        with np.errstate(all="ignore"):
            results = Program.load(file).load_method("forward").execute([])
    except ExecutorchError as error:
        return str(error)
    return [_as_torch(np.asarray(result)) for result in results]


def on_stock(stock: StockRuntime, file: bytes, path: Path) -> list[torch.Tensor] | str:
    """The result of the stock runtime, or its log."""
    path.write_bytes(file)
    try:
        return stock.run(path, [])
    except StockError as error:
        return str(error)
