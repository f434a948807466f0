"""Arguments of a delegate: which of them lie in memory as the graph has them, and the steps that copy the others."""

from __future__ import annotations

from collections.abc import Sequence

from et_backends.xnnpack.runtime.graph import XnnpackGraph
from et_backends.xnnpack.runtime.grid import Grid, read_in, write_out
from et_backends.xnnpack.runtime.memory import address
from et_schema.errors import Error, ExecutorchError
from et_schema.scalar_type import ScalarType
from et_vm.kernels.portable.steps import copy
from et_vm.kernels.registry import PrepareContext
from et_vm.step import Step
from et_vm.values import Array, Tensor


def arguments_of(args: Sequence[object], graph: XnnpackGraph) -> tuple[list[Tensor], list[Tensor]]:
    """Those of the inputs and of the outputs of a graph. Raises ExecutorchError for what is no tensor."""
    inputs = [_argument(args, graph, value) for value in graph.inputs]
    return inputs, [_argument(args, graph, value) for value in graph.outputs]


def sizes_in_memory(args: Sequence[Tensor]) -> tuple[tuple[int, ...], ...]:
    """The sizes of tensors in the order of memory."""
    return tuple(tuple(arg.sizes[dim] for dim in arg.dim_order) for arg in args)


def usable_memory(
    graph: XnnpackGraph, inputs: Sequence[Tensor], outputs: Sequence[Tensor]
) -> dict[int, Array]:
    """The bytes of the arguments that values may have for their own, by the ids of these: of those that have the
    value's type, and of outputs only those that no other argument lies in.
    """
    ids = [*graph.inputs, *graph.outputs]
    there = [
        (value, arg, address(arg.storage), index >= len(inputs))
        for index, (value, arg) in enumerate(zip(ids, [*inputs, *outputs], strict=True))
        if arg.storage is not None
    ]
    # From address to address: an output is apart from the others if none before it reaches into it, and it into none.
    there.sort(key=lambda item: item[2])
    usable: dict[int, Array] = {}
    reached = 0
    for at, (value, arg, start, is_output) in enumerate(there):
        assert arg.storage is not None
        end = start + arg.storage.nbytes
        apart = reached <= start and (at + 1 == len(there) or end <= there[at + 1][2])
        reached = max(reached, end)
        info = graph.values[value]
        if arg.scalar_type == info.scalar_type and info.grid is None and (apart or not is_output):
            usable[value] = arg.storage
    return usable


def copied_in(context: PrepareContext, arg: Tensor, tensor: Tensor, grid: Grid | None) -> list[Step]:
    """Steps that bring an argument into the tensor of its value: none if it has its memory."""
    source = _in_memory_order(arg)
    if not source.size:
        return []
    if grid is not None and arg.dtype == grid.dtype:
        return read_in(context, source, grid, tensor.array)
    if arg.scalar_type != tensor.scalar_type:
        raise _mismatch(arg, tensor)
    return [] if _same_view(source, tensor.array) else [copy(source, tensor.array)]


def copied_out(context: PrepareContext, arg: Tensor, tensor: Tensor, grid: Grid | None) -> list[Step]:
    """Steps that bring the tensor of a value, whose sizes the argument gets, into the argument."""
    sizes = [0] * len(tensor.sizes)
    if len(arg.dim_order) != len(sizes):
        raise _mismatch(arg, tensor)
    for place, dim in enumerate(arg.dim_order):
        sizes[dim] = tensor.sizes[place]
    arg.resize(sizes)
    target = _in_memory_order(arg)
    if not target.size:
        return []
    if grid is not None and arg.dtype == grid.dtype:
        return write_out(context, tensor.array, grid, target)
    # Places of elements are 32 bits wide in the graph, and 64 in torch.
    wider = tensor.scalar_type == ScalarType.INT and arg.scalar_type == ScalarType.LONG
    if arg.scalar_type != tensor.scalar_type and not wider:
        raise _mismatch(arg, tensor)
    return [] if _same_view(target, tensor.array) else [copy(tensor.array, target)]


def _argument(args: Sequence[object], graph: XnnpackGraph, value: int) -> Tensor:
    number = graph.values[value].argument
    arg = args[number] if number < len(args) else None
    if not isinstance(arg, Tensor):
        raise ExecutorchError(
            Error.InvalidArgument, f"argument {number} of {len(args)} must be a tensor, not {arg!r}"
        )
    return arg


def _in_memory_order(arg: Tensor) -> Array:
    return arg.array.transpose(arg.dim_order)


def _same_view(a: Array, b: Array) -> bool:
    """Whether two dense arrays of the same shape and type are the same elements."""
    return a.dtype == b.dtype and a.shape == b.shape and address(a) == address(b)


def _mismatch(arg: Tensor, tensor: Tensor) -> ExecutorchError:
    return ExecutorchError(Error.InvalidArgument, f"{arg} is the argument for {tensor} of the graph")
