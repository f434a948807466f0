"""Import of torch's higher-order operators into the `control` dialect.

Export keeps branches and bodies as graphs of their own and passes them what they use from outside as operands. Here
they become regions, which see the values around them: operands that are not carried from one turn to the next are
simply used.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Final, Protocol, cast

from torch.fx import GraphModule, Node
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Operation, Region, SSAValue

from et_ir.dialects.control import CondOp, ControlOp, MapOp, ScanOp, WhileOp, YieldOp, region_of
from et_ir.dialects.control.types import slice_type
from et_ir.dialects.program import LiteralOp
from et_ir.frontend.calls import Operands
from et_ir.frontend.ranges import Ranges, with_ranges
from et_ir.frontend.types import result_type
from et_ir.frontend.unsupported import UnsupportedNode

__all__ = ["CONTROL_FLOW", "GraphConverter", "convert_control_flow"]

CONTROL_FLOW: Final = frozenset({"cond", "while_loop", "map_impl", "scan"})
"""The operators that have a counterpart, by their names."""


class GraphConverter(Operands, Protocol):
    """Context of control flow: the conversion of the graphs that it runs."""

    ops: list[Operation]
    """The ops of the innermost region so far."""
    values: dict[Node, Any]
    """The value of each converted node."""
    ranges: Ranges
    """Facts of the program's symbols."""

    def convert(self, module: GraphModule, placeholders: Mapping[Node, Any]) -> Any:
        """Convert a graph; returns what its output has become, `None` if that cannot be converted."""
        ...

    def inside(self, graph: GraphModule) -> AbstractContextManager[None]:
        """Collect the ops of a region in a list of its own."""
        ...

    def note_sizes(self, node: Node, value: Any) -> None:
        """Note which sizes the tensors have that a node has become."""
        ...


def convert_control_flow(
    converter: GraphConverter, name: str, module: GraphModule, node: Node
) -> tuple[SSAValue, ...]:
    """The results of a call of one of `CONTROL_FLOW`. Raises `UnsupportedNode` and `UnsupportedType`."""
    call = _HigherOrderCall(converter, module, node)
    match name:
        case "cond":
            op = call.cond()
        case "while_loop":
            op = call.while_loop()
        case "map_impl":
            op = call.map()
        case _:
            op = call.scan()
    converter.place(op)
    converter.note_sizes(node, tuple(op.results))
    return tuple(op.results)


class _HigherOrderCall:
    """One call: its arguments are graphs and values."""

    def __init__(self, converter: GraphConverter, module: GraphModule, node: Node):
        self.converter = converter
        self.module = module
        self.node = node
        self.arguments: tuple[Any, ...] = node.args

    # -- the operators

    def cond(self) -> ControlOp:
        predicate, then, otherwise, *operands = self.arguments
        captured = self.values(operands[0] if operands else ())
        types = [self.type(item) for item in self.node.meta["val"]]
        condition = self.value(predicate)
        regions = [region_of(()), region_of(())]
        for region, branch in zip(regions, (then, otherwise), strict=True):
            self.fill(region, branch, captured)
        return CondOp(condition, types, *regions)

    def while_loop(self) -> ControlOp:
        condition, body, inits, *additional = self.arguments
        carried = self.values(inits)
        captured = self.values(additional[0] if additional else ())
        placeholders = _placeholders(self.graph(body))[: len(carried)]
        types = [self.type(node.meta["val"]) for node in placeholders]
        hints = [value.name_hint for value in carried]
        regions = [region_of(types, hints), region_of(types, hints)]
        for region, graph in zip(regions, (condition, body), strict=True):
            self.fill(region, graph, [*region.block.args, *captured])
        return WhileOp(carried, *regions)

    def map(self) -> ControlOp:
        body, xs, additional = self.arguments
        sequences = self.values(xs)
        types = [self.type(item) for item in self.node.meta["val"]]
        region = region_of([_slice(value) for value in sequences])
        self.fill(region, body, [*region.block.args, *self.values(additional)])
        return MapOp(sequences, types, region)

    def scan(self) -> ControlOp:
        body, inits, xs, additional = self.arguments
        carried, sequences = self.values(inits), self.values(xs)
        types = [self.type(item) for item in self.node.meta["val"]]
        state = [self.type(node.meta["val"]) for node in _placeholders(self.graph(body))[: len(carried)]]
        region = region_of([*state, *map(_slice, sequences)])
        self.fill(region, body, [*region.block.args, *self.values(additional)])
        return ScanOp(carried, sequences, types[len(carried) :], region)

    # -- their arguments

    def graph(self, argument: Any) -> GraphModule:
        """A branch or body."""
        return getattr(self.module, str(cast(Node, argument).target))

    def type(self, fake: object) -> Attribute:
        """The type of what torch knows as `fake`."""
        return result_type(fake, self.converter.translate)

    def value(self, item: Any) -> SSAValue:
        """An argument, or what a region yields, as a value."""
        found: Any = self.converter.value_of(item) if isinstance(item, Node) else item
        if isinstance(found, SSAValue):
            return cast("SSAValue[Attribute]", found)
        if not isinstance(found, bool | int | float):
            raise UnsupportedNode(
                f"control flow with a {type(found).__name__} among its values is not supported",
                "pass tensors and numbers",
            )
        literal = LiteralOp(found)
        self.converter.place(literal)
        return literal.result

    def values(self, items: Sequence[Any]) -> list[SSAValue]:
        return [self.value(item) for item in items]

    def fill(self, region: Region, argument: Any, values: Sequence[SSAValue]) -> None:
        """Convert a graph into a region."""
        graph, converter = self.graph(argument), self.converter
        with converter.inside(graph):
            outputs = converter.convert(graph, dict(zip(_placeholders(graph), values, strict=True)))
            if outputs is None:
                raise UnsupportedNode
            if any(item is None for item in _flat(outputs)):
                raise UnsupportedNode
            yielded = self.values(_flat(outputs))
            converter.place(YieldOp(yielded))
            block = region.block
            block.add_ops(with_ranges(converter.ops, graph.graph.nodes, converter.values, converter.ranges))


def _flat(outputs: Any) -> tuple[Any, ...]:
    """The results of a subgraph: a condition's graph returns one value, others a list."""
    return cast("tuple[Any, ...]", outputs) if isinstance(outputs, tuple) else (outputs,)


def _placeholders(graph: GraphModule) -> list[Node]:
    return [node for node in graph.graph.nodes if node.op == "placeholder"]


def _slice(sequence: SSAValue) -> TensorType[Attribute]:
    type = sequence.type
    assert isinstance(type, TensorType)
    return slice_type(cast("TensorType[Attribute]", type))
