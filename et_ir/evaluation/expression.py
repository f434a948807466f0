"""Constants not yet computed: operators on constants, as a graph that is evaluated when its bytes are asked
for.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias, cast

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute

from et_ir.data import Blob
from et_ir.data.blob import KEEP
from et_ir.evaluation import torch_kernels
from et_ir.evaluation.arrays import Array, array_of, bytes_of, numpy_dtype
from et_ir.evaluation.call import ConstantCall, Kernel
from et_ir.evaluation.numpy_kernels import REARRANGEMENTS

__all__ = ["ConstantExpression", "ExpressionResult", "Leaf", "Operand"]


@dataclass(frozen=True, eq=False)
class Leaf:
    """A constant that has its bytes, by the name of its symbol."""

    symbol: str
    type: TensorType[Attribute]
    blob: Blob

    def array(self) -> Array:
        return array_of(self.type, self.blob)


@dataclass(frozen=True, eq=False)
class ExpressionResult:
    """One result of an expression."""

    expression: ConstantExpression
    index: int


Operand: TypeAlias = (
    "Leaf | ExpressionResult | int | float | bool | Sequence[Leaf | ExpressionResult | None] | None"
)
"""Operand of a tensor slot: a constant, a number, nothing, or a list of constants."""


@dataclass(eq=False)
class ConstantExpression:
    """One operator on constants. `kernel` is `None` where torch evaluates it.

    `call.args` holds the literals; `tensors` what stands in the tensor slots.
    """

    call: ConstantCall
    tensors: Mapping[str, Operand]
    kernel: Kernel | None
    blobs: dict[int, Blob] = field(default_factory=dict[int, Blob])
    """Results that have become constants of the program."""

    def operands(self) -> list[Leaf | ExpressionResult]:
        found: list[Leaf | ExpressionResult] = []
        for operand in self.tensors.values():
            items = operand if isinstance(operand, tuple) else (operand,)
            found.extend(
                item for item in cast("Sequence[Any]", items) if isinstance(item, Leaf | ExpressionResult)
            )
        return found

    def _apply(self, done: Mapping[int, Sequence[Array]]) -> Sequence[Array]:
        call = ConstantCall(
            self.call.op,
            {**self.call.args, **{name: _value(operand, done) for name, operand in self.tensors.items()}},
            self.call.types,
            self.call.computed,
        )
        if self.kernel is None:
            return torch_kernels.evaluate(call)
        found = self.kernel(call)
        # For arrays without dimensions, numpy gives scalars.
        return found if isinstance(found, list | tuple) else (np.asarray(found),)

    def known(self, index: int) -> Array | None:
        """A result whose bytes are kept already."""
        blob = self.blobs.get(index)
        return array_of(self.call.types[index], blob) if blob is not None and blob.nbytes <= KEEP else None

    def evaluate(self, index: int) -> Array:
        """One result. What it is computed from is evaluated first, each expression once, without recursion.

        Raises what kernels raise for operands that their operator does not take.
        """
        done: dict[int, Sequence[Array]] = {}
        stack: list[ConstantExpression] = [self]
        while stack:
            top = stack[-1]
            needed = [
                part.expression
                for part in top.operands()
                if isinstance(part, ExpressionResult)
                and id(part.expression) not in done
                and part.expression.known(part.index) is None
            ]
            if needed:
                stack.extend(needed)
                continue
            stack.pop()
            if id(top) not in done:
                done[id(top)] = top._apply(done)
        return done[id(self)][index]

    def blob(self, index: int, key: str) -> Blob:
        """The bytes of one result, computed when asked for."""
        type = self.call.types[index]

        def compute() -> memoryview:
            return bytes_of(self.evaluate(index), type)

        count = 1
        for size in type.get_shape():
            count *= size
        nbytes = count * numpy_dtype(type.element_type).itemsize
        blob = Blob.derived(key, nbytes, compute, rearranged=self._rearranged())
        self.blobs[index] = blob
        return blob

    def _rearranged(self) -> tuple[Hashable, Blob] | None:
        """The constant whose elements the result holds in another order, and what determines the order."""
        steps: list[Hashable] = []
        expression = self
        while expression.kernel in REARRANGEMENTS:
            steps.append((expression.kernel, *sorted(expression.call.args.items()), expression.call.types[0]))
            (operand,) = expression.operands()
            if isinstance(operand, Leaf):
                return (*steps, operand.type), operand.blob
            expression = operand.expression
        return None


def _value(operand: Any, done: Mapping[int, Sequence[Array]]) -> Any:
    """An operand for a kernel. No closure: one that calls itself is a cycle, and would keep the arrays of `done`."""
    if isinstance(operand, Leaf):
        return operand.array()
    if isinstance(operand, ExpressionResult):
        kept = operand.expression.known(operand.index)
        return done[id(operand.expression)][operand.index] if kept is None else kept
    if isinstance(operand, tuple):
        return [_value(item, done) for item in cast("Sequence[Any]", operand)]
    return operand
