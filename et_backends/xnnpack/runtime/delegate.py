"""One delegate: a graph, the plan for the sizes that its inputs have, and the arguments that it is bound to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import length_hint

from et_backends.xnnpack.runtime.arguments import (
    arguments_of,
    copied_in,
    copied_out,
    sizes_in_memory,
    usable_memory,
)
from et_backends.xnnpack.runtime.graph import XnnpackGraph
from et_backends.xnnpack.runtime.memory import same_memory
from et_backends.xnnpack.runtime.node_work import node_work
from et_backends.xnnpack.runtime.plan import GraphPlan
from et_schema.errors import Error, ExecutorchError
from et_vm.backend import BackendExecuteContext, PartWork
from et_vm.backends.bound import BoundArguments
from et_vm.kernels.registry import KernelRegistry, PrepareContext, Scratch
from et_vm.platform import Platform
from et_vm.step import Step
from et_vm.values import Array, Tensor, array_bytes
from et_vm.work import WorkMeter, elements_of


class Delegate:
    """Plans the graph when it is made, for the sizes that it declares, and again when the inputs have other sizes.

    Inputs and outputs have the memory of the arguments where they can. A call with arguments elsewhere makes another
    plan, in which those that have moved are copied: so there are no more plans for the same sizes than arguments.
    """

    __slots__ = (
        "_bound",
        "_first",
        "_graph",
        "_kernels",
        "_memo",
        "_meter",
        "_moving",
        "_plan",
        "_platform",
        "_scratch",
        "_sizes",
        "_steps",
    )

    def __init__(
        self,
        graph: XnnpackGraph,
        platform: Platform,
        kernels: KernelRegistry | None = None,
        arguments: Sequence[object] = (),
        meter: WorkMeter | None = None,
    ) -> None:
        """`platform` makes the memory of values; `kernels` are used where they are compiled; `arguments` are
        what the first call will pass, as far as that is known; `meter` counts the work of calls.
        """
        self._platform = platform
        self._meter = meter
        self._graph = graph
        self._kernels = kernels if kernels is not None and kernels.compiled else None
        self._memo: dict[object, object] = {}
        self._scratch = Scratch(platform.allocate)
        self._moving: set[int] = set()
        """The values whose arguments have been in different places."""
        self._sizes = tuple(graph.values[value].dims for value in graph.inputs)
        self._plan = self._planned(self._sizes, self._expected(arguments))
        self._bound = BoundArguments()
        self._steps: tuple[Step, ...] = ()
        self._first = 0

    def _expected(self, arguments: Sequence[object]) -> dict[int, Array]:
        """The memory of arguments with the sizes that the graph declares; none where they are no such arguments,
        which is for the call to complain of.
        """
        if not all(isinstance(arg, Tensor) for arg in arguments):
            return {}
        try:
            inputs, outputs = arguments_of(arguments, self._graph)
        except ExecutorchError:
            return {}
        return usable_memory(self._graph, inputs, outputs) if sizes_in_memory(inputs) == self._sizes else {}

    def _planned(self, sizes: Sequence[tuple[int, ...]], given: Mapping[int, Array]) -> GraphPlan:
        return GraphPlan(
            self._graph, sizes, self._memo, self._scratch, self._platform, self._kernels, given, self._meter
        )

    def memory_report(self) -> dict[str, int]:
        """Bytes of values, of working memory, and of constants in the form that kernels read."""
        derived = self._graph.nbytes + sum(map(array_bytes, self._memo.values()))
        return {
            "values": self._plan.nbytes,
            "scratch": self._scratch.nbytes,
            "derived constants": derived,
        }

    def work_report(self) -> list[PartWork]:
        """The work of each node in the shapes of the last call."""
        graph, tensors = self._graph, self._plan.tensors
        return [
            node_work(node, tensors, graph.weights, lambda value: graph.values[value].dims)
            for node in graph.nodes
        ]

    def run(self, args: Sequence[object]) -> None:
        """Read the inputs and write the outputs among `args`. Raises ExecutorchError."""
        self._settle(args)
        self._walk(self._steps)

    def run_observed(self, args: Sequence[object], context: BackendExecuteContext) -> None:
        """`run`, telling the context of each node when it began and ended."""
        self._settle(args)
        ticks = context.platform.ticks
        start = self._first
        self._walk(self._steps[:start])
        for node, end in zip(self._graph.nodes, self._plan.ends, strict=True):
            began = ticks()
            self._walk(self._steps[start : self._first + end])
            context.log(node.identifier, node.name, began, ticks())
            context.log_values(
                node.identifier, node.name, (self._plan.tensors[value] for value in node.results)
            )
            start = self._first + end
        self._walk(self._steps[start:])

    def _settle(self, args: Sequence[object]) -> None:
        if not self._bound.match(args):
            self._bind(args)
        if self._meter is not None:
            self._meter.spend(elements_of(self._steps) + self._plan.declared_work)

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
        self._bound.release()
        inputs, outputs = arguments_of(args, graph)
        self._plan_for(inputs, outputs)
        steps: list[Step] = []
        self._scratch.restart()
        context = PrepareContext("XnnpackBackend", scratch=self._scratch)
        values, tensors = graph.values, self._plan.tensors
        for value, arg in zip(graph.inputs, inputs, strict=True):
            # An argument that no node reads is there for its sizes: its elements may be of another type.
            if value in graph.last_uses or value in graph.outputs:
                steps += copied_in(context, arg, tensors[value], values[value].grid)
        self._first = len(steps)
        steps += self._plan.steps
        for value, arg in zip(graph.outputs, outputs, strict=True):
            steps += copied_out(context, arg, tensors[value], values[value].grid)
        self._steps = tuple(steps)
        self._bound.bind(args)

    def _plan_for(self, inputs: Sequence[Tensor], outputs: Sequence[Tensor]) -> None:
        """Make a plan unless there is the one for these arguments."""
        sizes = sizes_in_memory(inputs)
        usable = usable_memory(self._graph, inputs, outputs)
        before = self._plan.given
        if sizes == self._sizes:
            self._moving |= {
                value for value, memory in before.items() if not same_memory(memory, usable.get(value))
            }
        given = {value: memory for value, memory in usable.items() if value not in self._moving}
        if sizes == self._sizes and given.keys() == before.keys():
            return
        self._sizes = ()
        self._plan = self._planned(sizes, given)
        self._sizes = sizes
