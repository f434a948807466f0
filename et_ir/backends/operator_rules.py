"""Conversion rules by operator, and the operator support derived from them.

For backends whose values are outputs of nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, cast

from xdsl.dialects.builtin import f32, i1, i32, i64
from xdsl.ir import Attribute, Operation, SSAValue

from et_ir.analysis.bounds import SizeBounds
from et_ir.delegation.support import OperatorSupport
from et_ir.diagnostics import Diagnostic
from et_ir.dialects.edge.attributes import dim_order_of
from et_ir.dialects.program import GetOp
from et_ir.dialects.schema import SchemaOp
from et_ir.dialects.schema.literals import element_type_name
from et_ir.dialects.schema.tensors import is_tensor, tensor_type

__all__ = [
    "OperatorRule",
    "RuleSupport",
    "axis",
    "is_constant",
    "numbers",
    "only_literals",
    "reduced_dims",
    "refuse_integers_of_floats",
    "slice_start",
    "transposed_order",
]

_Lowering = TypeVar("_Lowering")


def _takes_all(_: SchemaOp) -> Diagnostic | None:
    return None


@dataclass(frozen=True)
class OperatorRule(Generic[_Lowering]):
    """Mapping of an operator to nodes."""

    lower: _Lowering
    """Makes the nodes of an op."""
    refuse: Callable[[SchemaOp], Diagnostic | None] = _takes_all
    """Why no nodes compute this op, `None` if some do."""
    types: frozenset[Attribute] = frozenset({f32})
    """Element types of tensors that it computes with."""
    indices: tuple[str, ...] = ()
    """Arguments that are integers whatever the others are: places of elements."""
    constants: tuple[str, ...] = ()
    """Arguments that have to be constant data, of any element type."""
    results: int = 1
    """How many of the results are computed."""
    mixes: bool = False
    """Whether the element types of operands and result may differ."""


class RuleSupport(OperatorSupport):
    """Supports an op if there is a rule for its operator, and its sizes and element types are supported."""

    def __init__(
        self,
        rules: Mapping[str, OperatorRule[Any]],
        device: str,
        *,
        highest_rank: int | None = None,
        bounds: SizeBounds | None = None,
        resized: Collection[str] = (),
    ) -> None:
        """`device` names the backend in diagnostics; `highest_rank` limits the rank of tensors. Of the operators
        `resized`, sizes may be known at run time only, within `bounds`.
        """
        self._rules = rules
        self._device = device
        self._highest_rank = highest_rank
        self._bounds = bounds
        self._resized = resized

    def refusal(self, op: Operation) -> Diagnostic | None:
        if not isinstance(op, SchemaOp):
            return Diagnostic("no operator", op.name)
        name = op.name.removeprefix("edge.")
        rule = self._rules.get(name)
        if rule is None:
            return Diagnostic(f"{self._device} has no such node", name)
        unused = () if rule.results < 0 else op.results[rule.results :]
        if any(result.uses for result in unused):
            return Diagnostic("a result that is not computed is used", name)
        results = [result for result in op.results if result not in unused]
        constants = [value for one in rule.constants if (value := op.arg(one)) is not None]
        if not all(map(is_constant, constants)):
            return Diagnostic("an argument that is not constant", ", ".join(rule.constants))
        tensors = [
            value for value in (*op.operands, *results) if is_tensor(value.type) and value not in constants
        ]
        refusal = self._of_types(op, rule, tensors)
        if refusal is not None:
            return refusal
        for argument, value in op.args().items():
            if argument not in op.info().positions and not only_literals(value):
                return Diagnostic("an argument that is known at run time only", argument)
        return rule.refuse(op)

    def _of_types(self, op: SchemaOp, rule: OperatorRule[Any], tensors: list[SSAValue]) -> Diagnostic | None:
        places = [op.arg(name) for name in rule.indices]
        seen: set[object] = set()
        for value in tensors:
            type = tensor_type(value)
            if not type.has_static_shape() and not self._resizes(op, value):
                return Diagnostic("dynamic size", str(type))
            if 0 in type.get_shape():
                return Diagnostic("empty tensor", str(type))
            if list(dim_order_of(type)) != sorted(dim_order_of(type)):
                return Diagnostic("dim order", str(type))
            if self._highest_rank is not None and len(type.get_shape()) > self._highest_rank:
                return Diagnostic(f"more than {self._highest_rank} dimensions", str(type))
            if value in places:
                if type.element_type not in (i1, i32, i64):
                    return Diagnostic("element type of places", element_type_name(type.element_type))
                continue
            seen.add(type.element_type)
            result_of_comparison = rule.mixes and type.element_type == i1
            if type.element_type not in rule.types and not result_of_comparison:
                taken = ", ".join(sorted(map(element_type_name, rule.types)))
                return Diagnostic("element type", f"{element_type_name(type.element_type)}, it takes {taken}")
        operands = {tensor_type(value).element_type for value in tensors if value not in op.results}
        operands -= {tensor_type(value).element_type for value in places}
        mixed = len(operands) > 1 if rule.mixes else len(seen) > 1
        return Diagnostic("element types differ") if mixed else None

    def _resizes(self, op: SchemaOp, value: SSAValue) -> bool:
        """Whether the operator takes a tensor whose sizes are known at run time only."""
        resized = op.name.removeprefix("edge.") in self._resized
        return resized and self._bounds is not None and None not in self._bounds.sizes(value)


def axis(dim: int, rank: int) -> int:
    """A dimension counted from the front."""
    return dim + rank if dim < 0 else dim


def reduced_dims(op: SchemaOp, rank: int) -> list[int]:
    """The dimensions that an op reduces of a tensor of a rank, all where it names none."""
    given: Any = op.arg("dim") if "dim" in op.info().schema.by_name else None
    chosen = (given,) if isinstance(given, int) else given
    return [axis(int(dim), rank) for dim in chosen] if chosen else list(range(rank))


def transposed_order(op: SchemaOp, rank: int) -> list[int]:
    """The dimensions of the operand of `t_copy` or `transpose_copy`, in the order of the result."""
    order = list(range(rank))
    first, second = (0, 1) if op.name == "edge.t_copy" else (op.arg("dim0"), op.arg("dim1"))
    if rank > 1:
        order[first], order[second] = order[second], order[first]
    return order


def slice_start(op: SchemaOp, size: int) -> int:
    """The first index of a slice of a dimension of `size` elements, from 0 to `size`."""
    start = op.arg("start") or 0
    return min(max(start + size if start < 0 else start, 0), size)


def refuse_integers_of_floats(op: SchemaOp) -> Diagnostic | None:
    """Refusal of a conversion of floats to integers.

    What becomes of floats that an integer type cannot hold is undefined in torch, and differs between runtimes.
    """
    source, target = tensor_type(op.operands[0]).element_type, tensor_type(op.result).element_type
    if source == f32 and target not in (f32, i1):
        return Diagnostic("conversion of floats to integers")
    return None


def numbers(value: Any, count: int) -> list[int]:
    """A list of `count` integers; a single one is repeated."""
    found = [int(one) for one in value]
    return found * count if len(found) == 1 else found


def is_constant(value: object) -> bool:
    """Whether a value is constant data of the program."""
    return isinstance(value, SSAValue) and isinstance(value.owner, GetOp)


def only_literals(value: object) -> bool:
    """Whether an argument is known at compile time."""
    if isinstance(value, tuple):
        return all(map(only_literals, cast("tuple[object, ...]", value)))
    return not isinstance(value, SSAValue)
