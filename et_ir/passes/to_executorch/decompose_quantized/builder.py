"""Builder of quantized arithmetic at the edge level.

A decomposition is a function from a `Builder` and an op to the values that take the place of its results. Every
operation is rounded to the element type that torch's own kernel, which is written in steps, gives it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar

from xdsl.ir import Attribute, Operation, OpResult, SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from et_ir.diagnostics import PassReport, diagnose
from et_ir.dialects.edge import OP_BY_NAME, EdgeOp
from et_ir.dialects.edge import ops as edge
from et_ir.dialects.schema import compatible
from et_ir.dialects.schema.dtypes import dtype_of
from et_ir.dialects.schema.tensors import may_be_same_type, tensor_type
from et_ops.dtypes import DType, promote_categories

__all__ = ["DECOMPOSITIONS", "Builder", "Values", "decomposes", "dtype", "shape"]

Values = SSAValue | Sequence[SSAValue] | None
Decomposition = Callable[["Builder", Any], Values]

DECOMPOSITIONS: Final[dict[type[EdgeOp], Decomposition]] = {}
"""Decompositions by op class."""

_F = TypeVar("_F", bound=Decomposition)


def decomposes(*names: str) -> Callable[[_F], _F]:
    """Register a function as the decomposition of operators of `quantized_decomposed`.

    It returns `None`, before it has built anything, for an op that it leaves as it is.
    """

    def register(function: _F) -> _F:
        for name in names:
            DECOMPOSITIONS[OP_BY_NAME[f"quantized_decomposed.{name}"]] = function
        return function

    return register


def dtype(value: SSAValue) -> DType:
    """The element type of a tensor."""
    return dtype_of(tensor_type(value).element_type)


def shape(value: SSAValue) -> tuple[int, ...]:
    """The sizes of a tensor, negative where known at run time only."""
    return tensor_type(value).get_shape()


class Builder:
    """Builds what takes the place of one op."""

    def __init__(self, op: EdgeOp, rewriter: PatternRewriter):
        self.op = op
        self.rewriter = rewriter
        self.built: set[Operation] = set()

    def __call__(self, cls: type[EdgeOp], /, *args: Any, **kwargs: Any) -> SSAValue:
        """The result of a new op, whose type is inferred."""
        return self._insert(cls.make(*args, **kwargs))

    def to(self, value: SSAValue, kind: DType) -> SSAValue:
        """The value in another element type; itself if it has that type."""
        if dtype(value) is kind:
            return value
        return self(edge.DimOrderOpsUnderscoreToDimOrderCopyOp, value, dtype=kind)

    def view(self, value: SSAValue, sizes: Sequence[int]) -> SSAValue:
        """The value in another shape, of whose sizes one may be -1; itself if it has that shape."""
        return value if shape(value) == tuple(sizes) else self(edge.ViewCopyOp, value, list(sizes))

    def full(self, sizes: Sequence[int], number: float, kind: DType) -> SSAValue:
        """A tensor of equal elements."""
        return self(edge.FullOp, list(sizes), number, dtype=kind)

    def combined(self, cls: type[EdgeOp], first: SSAValue, second: SSAValue) -> SSAValue:
        """The result of an operator that promotes its two operands, which are converted to the type it computes in."""
        sized = [dtype(value) for value in (first, second) if shape(value)]
        kind = promote_categories(sized, [dtype(v) for v in (first, second) if not shape(v)], [])
        assert kind is not None
        return self(cls, self.to(first, kind), self.to(second, kind))

    def clamped(self, value: SSAValue, least: float, most: float, kind: DType) -> SSAValue:
        """The value in the range of integers, as a quantized type."""
        return self.to(self(edge.ClampOp, value, least, most), kind)

    def inverse(self, scale: SSAValue) -> SSAValue:
        """One divided by scales, in their type."""
        return self(edge.ReciprocalOp, scale)

    def single(self, value: SSAValue) -> SSAValue:
        """The only element of a tensor, as a tensor without dimensions."""
        return self.view(value, ())

    def fitted(self, value: SSAValue, type: Attribute) -> SSAValue:
        """The value with the type that a result had before: what is known of its sizes may differ.

        Raises `PassReport` if it cannot have that type.
        """
        if may_be_same_type(value.type, type):
            return value
        if not compatible(value.type, type):
            message = f"its result is of {type}, but what it decomposes into gives {value.type}"
            fix = "correct the result type, or the types of the operands"
            raise PassReport("a pattern failed", [diagnose(self.op, message, fix)])
        if isinstance(value, OpResult) and value.op in self.built:
            return self.rewriter.replace_value_with_new_type(value, type)
        copy = edge.DimOrderOpsUnderscoreCloneDimOrderOp.make(value, result_types=[type])
        return self._insert(copy)

    def _insert(self, op: EdgeOp) -> SSAValue:
        self.built.add(op)
        return self.rewriter.insert(op).results[0]
