"""Equality of dynamic sizes.

Sizes are found to be the same, whatever they are at run time.

In `view(x, [-1, x.shape[1]])` the first size is that of the dimensions of x but the second: not all elements, as one
would have to assume for want of knowing where the number comes from. Types say it by the expressions of their sizes;
where they have none, it is derived.
"""

from __future__ import annotations

from typing import cast

from xdsl.ir import Operation, OpResult, SSAValue

from et_ir.analysis.bounds.sources import sources
from et_ir.dialects.program import LiteralOp
from et_ir.dialects.schema import SchemaOp
from et_ir.dialects.schema.literals import literal_of
from et_ir.dialects.schema.tensors import is_tensor, sizes_of, tensor_type

__all__ = ["Identity", "SameSizes"]

Identity = object
"""Equal for sizes that are equal in every run: a number, an expression, or where the size came from first."""


class SameSizes:
    """The identities of the sizes of a method, noted op by op."""

    def __init__(self) -> None:
        self._found: dict[tuple[SSAValue, int], Identity] = {}

    def size(self, value: SSAValue, dim: int) -> Identity:
        """That of a size of a tensor."""
        sizes = sizes_of(tensor_type(value))
        dim %= max(len(sizes), 1)
        known = sizes[dim]
        return self._found.get((value, dim), (value, dim)) if known is None else known

    def number(self, value: int | SSAValue) -> Identity:
        """That of a number; an unnamed size (-1) has none."""
        if isinstance(value, int):
            return value
        owner = value.owner
        if isinstance(owner, LiteralOp):
            return literal_of(owner.value)
        if isinstance(owner, SchemaOp) and owner.operator.view_form == "sym_size.int":
            return self.size(owner.operands[0], owner.arg("dim"))
        return value

    def note(self, op: Operation) -> None:
        """Note where the sizes of an op's result come from. Its operands have been noted."""
        if not isinstance(op, SchemaOp) or not op.results or not is_tensor(op.results[0].type):
            return
        result: OpResult = op.results[0]
        for dim, size in enumerate(sizes_of(tensor_type(result))):
            if size is None:
                found = self._derived(op, dim)
                if found is not None:
                    self._found[result, dim] = found

    def _derived(self, op: SchemaOp, dim: int) -> Identity | None:
        name = op.operator.view_form
        if name in ("expand", "view", "reshape", "_unsafe_view"):
            return self._given(op, name, dim)
        if op.operator.facts.counts:
            return self._counted(op)
        if op.operator.facts.keeps_shape and is_tensor(op.operands[0].type):
            return self.size(op.operands[0], dim)
        if len(op.results) != 1:
            return None
        places = sources(op, dim)
        found = {self.size(*place) for place in places}
        if op.operator.is_pointwise and not _is_broadcast_from(op, places, dim):
            return None
        return found.pop() if len(found) == 1 else None

    def _counted(self, op: SchemaOp) -> Identity | None:
        """That of the numbers from 0 on: as many as the number that ends them."""
        given = op.info().schema.by_name
        start, step = (op.arg(arg) if arg in given else other for arg, other in (("start", 0), ("step", 1)))
        end: object = op.arg("end")
        owner = cast(SSAValue, end).owner if isinstance(end, SSAValue) else None
        # A tensor's size is never below 0, where there would be no numbers.
        is_size = isinstance(owner, SchemaOp) and owner.operator.view_form == "sym_size.int"
        return self.number(cast(SSAValue, end)) if is_size and (start, step) == (0, 1) else None

    def _given(self, op: SchemaOp, name: str, dim: int) -> Identity | None:
        """That of a size in the list that an operator is given."""
        list_name = "shape" if "shape" in op.info().schema.by_name else "size"
        items = cast("tuple[int | SSAValue, ...]", op.arg(list_name))
        item = items[dim]
        if item != -1:
            return self.number(item)
        if name != "expand":
            return None
        source = cast(SSAValue, op.arg("self"))
        return self.size(source, dim - len(items) + tensor_type(source).get_num_dims())


def _is_broadcast_from(op: SchemaOp, places: list[tuple[SSAValue, int]], dim: int) -> bool:
    """Whether a size of the result is that of these operands: the others have no such dimension, or 1 there."""
    from_end = dim - tensor_type(op.results[0]).get_num_dims()
    known = {value for value, _ in places}
    for value in op.operands:
        if value in known or not is_tensor(value.type):
            continue
        shape = value.type.get_shape()
        if len(shape) >= -from_end and shape[from_end] != 1:
            return False
    return True
