"""The steps of a graph for inputs of certain sizes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from et_backends.xnnpack.format.graph import XNNCopy, XNNStaticReshape
from et_backends.xnnpack.format.nodes import NO_VALUE
from et_backends.xnnpack.runtime.graph import NodeInfo, XnnpackGraph
from et_backends.xnnpack.runtime.grid import Limits, snap
from et_backends.xnnpack.runtime.memory import Pool
from et_backends.xnnpack.runtime.site import Site
from et_schema.errors import Error, ExecutorchError, InvalidFile, OutOfMemory
from et_vm.kernels.registry import KernelRegistry, PrepareContext, Scratch
from et_vm.platform import Platform
from et_vm.step import Step
from et_vm.values import Array, Tensor
from et_vm.work import WorkMeter, elements_of


class GraphPlan:
    """The calls of a graph, in order, and their tensors: those of the inputs are to be filled before.

    `tensors` are the values by id. The memory of a value goes to others behind its last use.
    """

    __slots__ = (
        "_as_declared",
        "_blocks",
        "_destined",
        "_graph",
        "_held",
        "_index",
        "_is_within",
        "_kept",
        "_kernels",
        "_limits",
        "_memo",
        "_meter",
        "_numbers",
        "_platform",
        "_pool",
        "_scratch",
        "_uses",
        "_work",
        "ends",
        "given",
        "steps",
        "tensors",
    )

    def __init__(
        self,
        graph: XnnpackGraph,
        sizes: Sequence[tuple[int, ...]],
        memo: dict[object, object],
        scratch: Scratch,
        platform: Platform,
        kernels: KernelRegistry | None = None,
        given: Mapping[int, Array] | None = None,
        meter: WorkMeter | None = None,
    ) -> None:
        """`sizes` are those of the inputs, in the order of memory; `memo` keeps what is derived from constants;
        `platform` makes the memory of values; `kernels` are compiled ones to use; `given` is memory for inputs
        and outputs, by their ids; `meter` counts the work of calls, where that is limited.

        Raises InvalidFile(DelegateInvalidCompatibility) for a node that does not take its operands, OutOfMemory.
        """
        self._graph = graph
        self._kernels = kernels
        self._memo = memo
        self._scratch = scratch
        self._platform = platform
        self._meter = meter
        self._work: dict[int, int] = {}
        """The work of each node as its kernel declares it, and its element count, where work is limited."""
        self._held: dict[int, list[object]] = {}
        """Reservations for what the steps of each node keep."""
        self._pool = Pool(platform.allocate)
        self.given = given or {}
        self._destined = _destined(graph, self.given)
        self._kept = {*graph.outputs, *graph.constants, *graph.weights, *self.given, *self._destined}
        self._blocks: dict[int, Array] = {}
        self._uses: dict[int, int] = {}
        """The number of values in each block, by the block's identity."""
        self.tensors: dict[int, Tensor] = dict(graph.constants)
        self._numbers: dict[int, int] = {}
        """The values whose memory is here, by their tensors' identity."""
        self._limits: Limits | None = None
        """Those of the node that is translated."""
        self._index = -1
        """The number of this node."""
        self._as_declared = all(
            graph.values[value].dims == size for value, size in zip(graph.inputs, sizes, strict=True)
        )
        """Whether inputs have the sizes that they are declared with: then no result is larger than declared."""
        self._is_within = all(
            math.prod(size) <= math.prod(graph.values[value].dims)
            for value, size in zip(graph.inputs, sizes, strict=True)
        )
        """Whether no input is larger than declared."""
        for value, size in zip(graph.inputs, sizes, strict=True):
            self._place(value, size)
        parts: list[list[Step]] = []
        generations: list[int] = []
        # An input that no node reads keeps its memory.
        for index, item in enumerate(graph.nodes):
            parts.append(self._translate(index, item, self.tensors))
            generations.append(scratch.generation if scratch.used else -1)
            for value in {*item.operands, *item.results}:
                if graph.last_uses.get(value) == index and value not in self._kept:
                    self._release(value)
        # Nodes that took scratch before it was as large as it is now take it again, so that there is one.
        for index, item in enumerate(graph.nodes):
            if generations[index] not in (-1, scratch.generation):
                parts[index] = self._translate(index, item, self.tensors)
        self.steps: list[Step] = [step for part in parts for step in part]
        self.ends: list[int] = []
        """For each node, the index of the step behind its last."""
        for part in parts:
            self.ends.append((self.ends[-1] if self.ends else 0) + len(part))

    @property
    def nbytes(self) -> int:
        """Bytes of all values that are no constants."""
        return self._pool.nbytes

    @property
    def declared_work(self) -> int:
        """Units of work that are not seen of the steps."""
        return sum(self._work.values())

    def node_of(self, step: int) -> NodeInfo:
        """The node that a step belongs to."""
        return self._graph.nodes[next(index for index, end in enumerate(self.ends) if step < end)]

    def _translate(self, index: int, item: NodeInfo, tensors: Mapping[int, Tensor]) -> list[Step]:
        self._scratch.restart()
        self._limits = item.limits
        self._index = index
        context = PrepareContext(
            item.name,
            instruction=index,
            scratch=self._scratch,
            memo=self._memo,
            memo_key=index,
            platform=self._platform,
            meter=self._meter,
        )
        result = self._graph.values[item.results[0]]
        site = Site(
            context,
            item.node,
            item.limits,
            tensors,
            self._place,
            result.row_grid,
            has_grid=result.grid is not None,
            kernels=self._kernels,
            weights=self._graph.weights,
        )
        where = f"xnodes[{index}].xnode_union"
        try:
            calls = item.translation.translate(site, item.node)
            self._held[index] = context.held
            if self._meter is not None:
                # What compiled kernels visit is not seen of their steps.
                seen = (tensors[value] for value in (*item.operands, *item.results) if value in tensors)
                self._work[index] = context.declared_work + elements_of(seen)
            return calls + self._finish(item, site)
        except OutOfMemory as error:
            error.where = where
            raise
        except MemoryError:
            raise OutOfMemory("no workspace", where=where) from None
        except ExecutorchError as error:
            if error.code == Error.OutOfResources:
                error.where = where
                raise
            message = f"{item.name}: {error.message}"
            raise InvalidFile(message, code=Error.DelegateInvalidCompatibility, where=where) from error
        except (ArithmeticError, LookupError, ValueError) as error:
            # What numpy says of shapes that no rule here has thought of.
            message = f"{item.name}: {error}"
            raise InvalidFile(message, code=Error.DelegateInvalidCompatibility, where=where) from error

    def _finish(self, item: NodeInfo, site: Site) -> list[Step]:
        """The steps behind a node's own: its limits, and the grid of its results."""
        calls: list[Step] = []
        values = self._graph.values
        for value in item.results:
            array = self.tensors[value].array
            if not array.size:
                continue
            grid = values[value].grid
            moved = item.translation.moves and all(
                values[operand].grid == grid for operand in item.operands if operand in values
            )
            if grid is not None and not (moved and site.limits is None):
                calls += snap(array, grid, site.limits)
            elif site.limits is not None:
                calls += site.clamped(self.tensors[value], site.limits, self.tensors[value])
        return calls

    def _place(
        self,
        value: int,
        sizes: Sequence[int],
        like: Tensor | None = None,
        over: Sequence[Tensor] = (),
        adds_bounds: bool = False,
    ) -> Tensor:
        """The tensor of a value, with its memory. See `Site.result`."""
        known = self.tensors.get(value)
        if known is not None:
            return known
        info = self._graph.values[value]
        exceeds = math.prod(sizes) > math.prod(info.dims)
        if exceeds and adds_bounds and self._as_declared and len(sizes) == len(info.dims):
            sizes = info.dims
        elif exceeds and (self._as_declared or (adds_bounds and self._is_within)):
            raise ExecutorchError(
                Error.InvalidArgument,
                f"the result has the shape {list(sizes)}, value {value} is declared as {list(info.dims)}",
            )
        tensor = Tensor(info.scalar_type, sizes, name=f"value {value}")
        block = self._shared(value, tensor, like)
        if block is None and value not in self.given and value not in self._destined:
            blocks = (self._left(tensor, operand) for operand in over)
            block = next((left for left in blocks if left is not None), None)
        if block is None:
            own = self.given.get(self._destined.get(value, value))
            block = own if own is not None and own.nbytes >= tensor.nbytes else self._pool.take(tensor.nbytes)
        self._blocks[value] = block
        self._uses[id(block)] = self._uses.get(id(block), 0) + 1
        tensor.bind(block)
        self.tensors[value] = tensor
        self._numbers[id(tensor)] = value
        return tensor

    def _shared(self, value: int, tensor: Tensor, like: Tensor | None) -> Array | None:
        """The block of `like`, if the value will have the same bytes for as long as both are used."""
        if like is None or like.scalar_type != tensor.scalar_type or like.nbytes != tensor.nbytes:
            return None
        source = self._numbers.get(id(like))
        if source is None or source not in self._blocks:
            return None
        infos = self._graph.values
        same_grid = infos[value].grid in (None, infos[source].grid)
        return self._blocks[source] if same_grid and self._limits is None else None

    def _left(self, tensor: Tensor, operand: Tensor) -> Array | None:
        """The block of an operand of as many bytes that nothing else has, and nothing reads after this node."""
        source = self._numbers.get(id(operand))
        if source is None or operand.nbytes != tensor.nbytes or source in self._kept:
            return None
        block = self._blocks.get(source)
        last = block is not None and self._graph.last_uses.get(source) == self._index
        return block if last and self._uses[id(block)] == 1 else None

    def _release(self, value: int) -> None:
        block = self._blocks.pop(value)
        self._uses[id(block)] -= 1
        if not self._uses[id(block)]:
            self._pool.give(block)


def _destined(graph: XnnpackGraph, given: Mapping[int, Array]) -> dict[int, int]:
    """The values that become an output with memory of its own by having other sizes, and nothing else: they have this
    memory from the beginning.
    """
    destined: dict[int, int] = {}
    for item in reversed(graph.nodes):
        if not isinstance(item.node, (XNNStaticReshape, XNNCopy)) or item.limits is not None:
            continue
        (source,), (result,) = item.operands, item.results
        output = destined.get(result, result)
        info, after = graph.values[source], graph.values[result]
        same = (info.scalar_type, info.grid) == (after.scalar_type, after.grid)
        inside = source not in graph.constants and info.argument == NO_VALUE
        if output in given and same and inside:
            destined[source] = output
    return destined
