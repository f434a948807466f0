"""Value ranges of the symbols of `torch.export`.

They are of sizes that only the data or the caller tells.

Export names such a number by a symbol and keeps the symbol's range, from what operators can give (`nonzero` finds
at most as many elements as there are), from the program's `torch._check` and from the user's `Dim`. A node that
makes new symbols says where in its result they are. In the IR each range stands behind what has the number.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, cast

import torch
from torch.fx import Node
from torch.utils._sympy import value_ranges
from xdsl.ir import Attribute, Operation, SSAValue

from et_ir.dialects.aten.ops import SymSizeIntOp
from et_ir.dialects.program import RangeOp
from et_ir.dialects.schema.sizes import RangesAttr, SizesAttr, values_of
from et_ir.dialects.schema.tensors import is_tensor, sizes_of
from et_ir.frontend.corrections import understates
from et_ir.frontend.custom_operators import is_known_namespace
from et_ir.frontend.torch_registry import as_operator
from et_ops.intervals import Interval

__all__ = ["Ranges", "ends", "range_of", "stated_ranges", "symbol_ranges", "with_ranges"]

Ranges = Mapping[Any, Any]
"""Ranges by symbol, as `ExportedProgram.range_constraints` has them."""

_LIMIT: Final = 2**48
"""Torch states 2**63 - 2 where it knows nothing; no tensor has as many elements as this."""


class _Stated(NamedTuple):
    """The range of a number: of a result of a node, or of one of its sizes."""

    result: int | None
    """The index of the result, where there are several."""
    dim: int | None
    """The dimension; `None` for a result that is a number."""
    least: int | None
    most: int


def with_ranges(
    ops: Sequence[Operation], nodes: Iterable[Node], values: Mapping[Node, Any], ranges: Ranges
) -> list[Operation]:
    """Ops with the ranges of the numbers that they make. `values` says what nodes, inputs among them, became.

    The ranges of what a branch sees of the values around it are stated around it.
    """
    stated: dict[Operation | None, list[Operation]] = {}
    here = set(ops)
    for node in nodes:
        for one in _of_sizes(node, ranges) if _is_opaque(node) else _of_node(node, ranges):
            number = _number(values.get(node), one)
            if number is None:
                continue
            owner = number.owner if isinstance(number.owner, Operation) else None
            if owner is not None and owner not in here:
                continue
            added = stated.setdefault(owner, [])
            if one.dim is not None:
                added.append(SymSizeIntOp.make(number, one.dim))
                number = added[-1].results[0]
            added.append(RangeOp(number, one.least, one.most))
    found = stated.pop(None, [])
    for op in ops:
        found.append(op)
        for added in stated.get(op, ()):
            added.location = op.location
            found.append(added)
    return found


def _number(value: Any, stated: _Stated) -> SSAValue | None:
    """The number that a range is of, or the tensor whose size it is; `None` if the program has no such number."""
    if isinstance(value, tuple) and stated.result is not None:
        value = cast("tuple[Any, ...]", value)[stated.result]
    if not isinstance(value, SSAValue):
        return None
    found = cast("SSAValue[Attribute]", value)
    if stated.dim is None:
        return None if is_tensor(found.type) else found
    # What the type has a number or an expression for is known by that.
    return found if is_tensor(found.type) and sizes_of(found.type)[stated.dim] is None else None


def _of_node(node: Node, ranges: Ranges) -> Iterator[_Stated]:
    """The ranges of the numbers that a node makes, in the order of their symbols."""
    bindings = cast("Mapping[Any, tuple[Any, ...]]", node.meta.get("unbacked_bindings") or {})
    if understates(node):
        return
    for symbol, path in bindings.items():
        least, most = ends(ranges.get(symbol))
        if most is None:
            continue
        steps = list(path)
        result: int | None = steps.pop(0).idx if steps and hasattr(steps[0], "idx") else None
        if not steps:
            yield _Stated(result, None, least, most)
        elif getattr(steps[0], "name", "") == "size" and len(steps) == 2:
            yield _Stated(result, steps[1].idx, least, most)


def _is_opaque(node: Node) -> bool:
    """Whether nothing but torch says what sizes a node's results have: inputs, and operators of other libraries."""
    op = as_operator(node.target)
    return node.op == "placeholder" or (op is not None and not is_known_namespace(op))


def _of_sizes(node: Node, ranges: Ranges) -> Iterator[_Stated]:
    """The ranges of the sizes of an input, or of the results of an operator."""
    value: Any = node.meta.get("val")
    several = isinstance(value, list | tuple)
    for index, result in enumerate(cast("Sequence[object]", value if several else (value,))):
        if not isinstance(result, torch.Tensor):
            continue
        sizes: tuple[Any, ...] = tuple(result.shape)
        for dim, size in enumerate(sizes):
            if type(size) is not int:
                least, most = ends(range_of(size.node.expr, ranges))
                if most is not None:
                    yield _Stated(index if several else None, dim, least, most)


def stated_ranges(function: Operation, nodes: Iterable[Node], ranges: Ranges) -> RangesAttr | None:
    """The ranges of the symbols in the types of a method; `None` if there is none."""
    names: dict[str, None] = {}
    for op in function.walk():
        for type in (value.type for value in values_of(op)):
            if is_tensor(type) and isinstance(type.encoding, SizesAttr):
                for size in type.encoding.data.sizes:
                    names |= dict.fromkeys(sorted(size.symbols) if size is not None else ())
    if not names:
        return None
    stated = symbol_ranges(ranges)
    for node in nodes:
        if understates(node):
            for symbol in cast("Mapping[Any, Any]", node.meta.get("unbacked_bindings") or {}):
                stated[str(symbol)] = Interval(stated.get(str(symbol), Interval(0)).least)
    return RangesAttr.of({name: stated.get(name, Interval()) for name in names})


def symbol_ranges(ranges: Ranges) -> dict[str, Interval]:
    """Ranges by the names of the symbols."""
    return {str(symbol): Interval(*ends(range)) for symbol, range in ranges.items()}


def range_of(expression: Any, ranges: Ranges) -> Any:
    """The range of an expression of symbols, as torch has it."""
    return cast(Any, value_ranges).bound_sympy(expression, dict(ranges))


def ends(found: Any) -> tuple[int | None, int | None]:
    """The ends of a range of numbers, `None` where it has no such end."""
    lower, upper = (getattr(found, name, None) for name in ("lower", "upper"))
    least = int(lower) if lower is not None and lower.is_Integer else -_LIMIT
    most = int(upper) if upper is not None and upper.is_Integer else _LIMIT
    return (least if least > -_LIMIT else None), (most if most < _LIMIT else None)
