"""One delegate: a graph, the plan for the sizes that its inputs have, and the arguments that it is bound to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import length_hint

from et_schema.errors import Error, ExecutorchError
from et_schema.scalar_type import ScalarType
from et_vm.backend import BackendExecuteContext
from et_vm.kernels.portable.steps import copy
from et_vm.kernels.registry import PrepareContext, Scratch, Step
from et_vm.values import Array, Tensor, array_bytes
from et_vm.xnnpack.graph import Graph
from et_vm.xnnpack.grid import read_in, write_out
from et_vm.xnnpack.plan import Plan


class Delegate:
    """Plans the graph when it is made, for the sizes that it declares, and again when the inputs have other sizes."""

    __slots__ = ("_allocate", "_bound", "_first", "_graph", "_memo", "_plan", "_scratch", "_sizes", "_steps")

    def __init__(self, graph: Graph, allocate: Callable[[int], Array]) -> None:
        """``allocate`` makes the memory of values."""
        self._allocate = allocate
        self._graph = graph
        self._memo: dict[object, object] = {}
        self._scratch = Scratch()
        self._sizes = tuple(graph.values[value].dims for value in graph.inputs)
        self._plan = Plan(graph, self._sizes, self._memo, self._scratch, allocate)
        self._bound: tuple[int, ...] = ()
        self._steps: tuple[Step, ...] = ()
        self._first = 0

    def memory_report(self) -> dict[str, int]:
        """Bytes of values, of working memory, and of constants in the form that kernels read."""
        derived = self._graph.nbytes + sum(map(array_bytes, self._memo.values()))
        return {
            "values": self._plan.nbytes,
            "scratch": self._scratch.nbytes,
            "derived constants": derived,
        }

    def run(self, args: Sequence[object]) -> None:
        """Read the inputs and write the outputs among ``args``."""
        self._settle(args)
        self._walk(self._steps)

    def run_observed(self, args: Sequence[object], context: BackendExecuteContext) -> None:
        """:meth:`run`, telling the context of each node when it began and ended."""
        self._settle(args)
        ticks = context.platform.ticks
        start = self._first
        self._walk(self._steps[:start])
        for node, end in zip(self._graph.nodes, self._plan.ends, strict=True):
            began = ticks()
            self._walk(self._steps[start : self._first + end])
            context.log(node.debug_handle, node.name, began, ticks())
            start = self._first + end
        self._walk(self._steps[start:])

    def _settle(self, args: Sequence[object]) -> None:
        if _versions(args) != self._bound:
            self._bind(args)

    def _walk(self, part: Sequence[Step]) -> None:
        steps = iter(part)
        try:
            for function, arguments in steps:
                function(*arguments)
        except Exception as error:
            raise self._failure(error, part[len(part) - length_hint(steps) - 1]) from error

    def _failure(self, error: Exception, step: Step) -> Exception:
        """The error with the node in it that the step belongs to, if it belongs to one."""
        at = next((at for at, other in enumerate(self._plan.steps) if other is step), None)
        if at is None:
            return error
        code = error.code if isinstance(error, ExecutorchError) else Error.Internal
        return ExecutorchError(code, f"{self._plan.node_of(at).name}: {error}")

    def _bind(self, args: Sequence[object]) -> None:
        graph = self._graph
        self._bound = ()
        inputs = [_argument(args, graph, value) for value in graph.inputs]
        outputs = [_argument(args, graph, value) for value in graph.outputs]
        sizes = tuple(tuple(arg.sizes[dim] for dim in arg.dim_order) for arg in inputs)
        if sizes != self._sizes:
            self._sizes = ()
            self._plan = Plan(graph, sizes, self._memo, self._scratch, self._allocate)
            self._sizes = sizes
        steps: list[Step] = []
        self._scratch.restart()
        context = PrepareContext("XnnpackBackend", scratch=self._scratch)
        for value, arg in zip(graph.inputs, inputs, strict=True):
            steps += self._copied_in(context, value, arg)
        self._first = len(steps)
        steps += self._plan.steps
        for value, arg in zip(graph.outputs, outputs, strict=True):
            steps += self._copied_out(context, value, arg)
        self._steps = tuple(steps)
        self._bound = _versions(args)

    def _copied_in(self, context: PrepareContext, value: int, arg: Tensor) -> list[Step]:
        tensor, grid = self._plan.tensors[value], self._graph.values[value].grid
        source = _in_memory_order(arg)
        if not source.size:
            return []
        if grid is not None and arg.dtype == grid.dtype:
            return read_in(context, source, grid, tensor.array)
        if arg.scalar_type != tensor.scalar_type:
            raise _mismatch(arg, tensor)
        return [copy(source, tensor.array)]

    def _copied_out(self, context: PrepareContext, value: int, arg: Tensor) -> list[Step]:
        tensor, grid = self._plan.tensors[value], self._graph.values[value].grid
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
        return [copy(tensor.array, target)]


def _versions(args: Sequence[object]) -> tuple[int, ...]:
    return tuple([arg.version if isinstance(arg, Tensor) else 0 for arg in args])


def _argument(args: Sequence[object], graph: Graph, value: int) -> Tensor:
    number = graph.values[value].argument
    arg = args[number] if number < len(args) else None
    if not isinstance(arg, Tensor):
        raise ExecutorchError(
            Error.InvalidArgument, f"argument {number} of {len(args)} is to be a tensor, not {arg!r}"
        )
    return arg


def _in_memory_order(arg: Tensor) -> Array:
    return arg.array.transpose(arg.dim_order)


def _mismatch(arg: Tensor, tensor: Tensor) -> ExecutorchError:
    return ExecutorchError(Error.InvalidArgument, f"{arg} is the argument for {tensor} of the graph")
