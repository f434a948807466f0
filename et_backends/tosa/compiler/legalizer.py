"""Builder of the TOSA ops that replace an edge op.

Rules (`et_backends.tosa.compiler.rules`) call it. The operators' own rules about types are checked where an op is made,
so a rule says only what TOSA cannot express.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import copysign, inf
from typing import Final

import numpy as np
from xdsl.dialects.builtin import UnitAttr
from xdsl.ir import Attribute, Block, Operation, SSAValue

from et_backends.tosa.compiler.arithmetic import NODES
from et_backends.tosa.dialect import OP_CLASSES, ConstOp, ConstShapeOp, TosaOp
from et_backends.tosa.dialect.attributes import dtype_of, type_of
from et_backends.tosa.dialect.ops import INLINE_ELEMENTS, tensor_of
from et_backends.tosa.format.graph import DType, Op
from et_backends.tosa.format.operators import numpy_name
from et_ir.analysis.dim_orders import straight
from et_ir.backends.formula_rules import find
from et_ir.dialects.edge.attributes import dim_order_of
from et_ir.dialects.program import GetOp, Globals
from et_ir.dialects.schema.tensors import is_tensor, tensor_type
from et_ir.evaluation.arrays import Array, array_of
from et_ops.formulas import Builder, Literal

__all__ = ["FLOATS", "NCHW_OF_NHWC", "NHWC_OF_NCHW", "CannotLegalize", "Legalizer"]

NHWC_OF_NCHW: Final = (0, 2, 3, 1)
NCHW_OF_NHWC: Final = (0, 3, 1, 2)
FLOATS: Final = (DType.FP32, DType.FP16, DType.BF16)


class CannotLegalize(ValueError):
    """An op that no operators of TOSA compute; the message says why."""


class Legalizer(Builder[SSAValue]):
    """Makes ops of the `tosa` dialect, and inserts them before the op that is legalized.

    Arithmetic is that of formulas, and takes integers where the operators of TOSA that it is made of do.

    With `dry`, ops are made in a block of their own, and constants have types but no elements: for those who ask
    whether an op can be legalized.
    """

    def __init__(self, symbols: Globals, *, dry: bool = False):
        super().__init__()
        self.symbols = symbols
        self.block = Block()
        self._dry = dry
        self._at: Operation | None = None
        self._constants: dict[object, SSAValue] = {}

    def before(self, op: Operation) -> None:
        """Insert what is made from now on before `op`."""
        self._at = op

    def insert(self, op: Operation) -> None:
        """Put an op in its place, with the location of what is legalized."""
        if self._at is None or self._dry:
            self.block.add_op(op)
            return
        op.location = self._at.location
        parent = self._at.parent
        assert parent is not None
        parent.insert_op_before(op, self._at)

    def emit(self, op: Op, *inputs: SSAValue, result: DType | None = None, **attributes: object) -> SSAValue:
        """The result of an operator. Raises `ValueError` for operands that it does not take."""
        values = [self.operand(one) for one in inputs]
        made = OP_CLASSES[op](values, attributes, result=result)
        self.insert(made)
        return made.output

    # -- values

    def operand(self, value: SSAValue) -> SSAValue:
        """A value as an operand: constants of the program become ops."""
        if not isinstance(value.owner, GetOp):
            return value
        found = self._constants.get(value)
        if found is None:
            key = value.owner.symbol.string_value()
            found = self._constants[value] = self.const(self._program_array(value), self.dtype(value), key)
        return found

    def _program_array(self, value: SSAValue) -> Array:
        symbol = self.symbols.constant_of(value)
        if symbol is None or symbol.value is None:
            raise CannotLegalize("it reads mutable state")
        if self._dry and not symbol.value.blob.is_resolved:
            type = tensor_type(value)
            return np.broadcast_to(np.zeros((), numpy_name(dtype_of(type.element_type))), type.get_shape())
        return array_of(symbol.type, symbol.value.blob)

    def constant(self, value: SSAValue) -> Array | None:
        """The elements of a constant with the shape of its type; `None` for any other value."""
        if isinstance(value.owner, GetOp):
            return self._program_array(value)
        if isinstance(value.owner, ConstOp) and not self._dry:
            return value.owner.array()
        return None

    def shape_of(self, value: SSAValue) -> tuple[int, ...]:
        """The sizes of a tensor."""
        return type_of(value).shape

    def dtype(self, value: SSAValue) -> DType:
        """The element type of a tensor."""
        type = value.type
        if not is_tensor(type):
            raise CannotLegalize(f"an operand is a {type}")
        return dtype_of(type.element_type)

    def const(self, array: Array, dtype: DType, key: str = "constant") -> SSAValue:
        """A constant; equal small ones are one."""
        if self._dry and array.size > INLINE_ELEMENTS:
            made = ConstOp(UnitAttr(), tensor_of(dtype, array.shape))
            self.insert(made)
            return made.output
        known: object = None
        if array.size <= INLINE_ELEMENTS:
            stored = np.ascontiguousarray(array, np.dtype(numpy_name(dtype)))
            known = (dtype, array.shape, stored.tobytes())
            if known in self._constants:
                return self._constants[known]
        op = ConstOp.of(array, dtype, key)
        self.insert(op)
        if known is not None:
            self._constants[known] = op.output
        return op.output

    def splat(self, number: float, dtype: DType, rank: int = 1) -> SSAValue:
        """A constant of one element and so many dimensions."""
        return self.const(np.full((1,) * rank, number, numpy_name(dtype)), dtype)

    def shape(self, numbers: Sequence[int]) -> SSAValue:
        """A constant shape; equal ones are one."""
        known = ("shape", tuple(numbers))
        found = self._constants.get(known)
        if found is None:
            op = ConstShapeOp(numbers)
            self.insert(op)
            found = self._constants[known] = op.output
        return found

    # -- movement of elements

    def reshape(self, value: SSAValue, shape: Sequence[int]) -> SSAValue:
        """The elements of a value in another shape."""
        if self.shape_of(value) == tuple(shape):
            return self.operand(value)
        array = self.constant(value)
        if array is not None:
            return self.const(array.reshape(shape), self.dtype(value), self._key(value))
        return self.emit(Op.RESHAPE, value, self.shape(shape))

    def transpose(self, value: SSAValue, perms: Sequence[int]) -> SSAValue:
        """A value with its dimensions in another order: dimension `k` of the result is `perms[k]` of the value."""
        if tuple(perms) == straight(len(perms)):
            return self.operand(value)
        array = self.constant(value)
        if array is not None:
            return self.const(array.transpose(perms), self.dtype(value), self._key(value))
        return self.emit(Op.TRANSPOSE, value, perms=perms)

    def _key(self, value: SSAValue) -> str:
        owner = value.owner
        return owner.symbol.string_value() if isinstance(owner, GetOp) else "constant"

    def ranked(self, value: SSAValue, rank: int) -> SSAValue:
        """A value with dimensions of size one put in front, until it has so many."""
        shape = self.shape_of(value)
        return self.reshape(value, (1,) * (rank - len(shape)) + shape)

    def slice(self, value: SSAValue, start: Sequence[int], size: Sequence[int]) -> SSAValue:
        """A box of a value."""
        if self.shape_of(value) == tuple(size):
            return self.operand(value)
        return self.emit(Op.SLICE, value, self.shape(start), self.shape(size))

    def part(self, value: SSAValue, dim: int, start: int, size: int) -> SSAValue:
        """The places of one dimension from `start` on."""
        shape = list(self.shape_of(value))
        begin = [0] * len(shape)
        begin[dim], shape[dim] = start, size
        return self.slice(value, begin, shape)

    def pad(self, value: SSAValue, amounts: Sequence[int], number: float = 0.0) -> SSAValue:
        """A value with elements put before and after those of each dimension: a pair of counts for each."""
        if not any(amounts):
            return self.operand(value)
        return self.emit(Op.PAD, value, self.shape(amounts), self.splat(number, self.dtype(value)))

    def broadcast(self, value: SSAValue, shape: Sequence[int]) -> SSAValue:
        """A value repeated along dimensions of size one until it has a shape."""
        value = self.ranked(value, len(shape))
        have = self.shape_of(value)
        if have == tuple(shape):
            return value
        times = [want // size for want, size in zip(shape, have, strict=True)]
        return self.emit(Op.TILE, value, self.shape(times))

    # -- arithmetic

    def binary(self, op: Op, left: SSAValue, right: SSAValue) -> SSAValue:
        """An operator of two operands, which are broadcast."""
        rank = max(len(self.shape_of(left)), len(self.shape_of(right)))
        left, right = self.ranked(left, rank), self.ranked(right, rank)
        if op is Op.MUL:
            return self.emit(op, left, right, self.splat(0, DType.INT8))
        return self.emit(op, left, right)

    def number(self, value: float, like: SSAValue) -> SSAValue:
        """A number as a constant of the element type and the rank of `like`, if that type holds it."""
        dtype = self.dtype(like)
        kind = np.dtype(numpy_name(dtype))
        with np.errstate(over="ignore", invalid="ignore"):
            held = np.asarray(value).astype(kind)
        if held != value if dtype not in FLOATS else np.isinf(held) and not np.isinf(value):
            raise CannotLegalize(f"the number {value}, with elements of {dtype.name}")
        return self.splat(held.item(), dtype, len(self.shape_of(like)))

    def native(self, name: str, literals: Sequence[Literal]) -> Callable[..., SSAValue] | None:
        make = find(NODES, name, literals)
        return None if make is None else partial(make, self)

    def div(self, x: SSAValue, y: SSAValue | float) -> SSAValue:
        """A quotient; that of a number is a product with its reciprocal, which is infinite for a zero."""
        if isinstance(y, SSAValue):
            return super().div(x, y)
        return self.mul(x, 1.0 / y if y else copysign(inf, y))

    def zero_point(self, value: SSAValue, number: int = 0) -> SSAValue:
        """The zero point of a value: a constant of one element of its type."""
        return self.splat(number, self.dtype(value))

    def reduce(self, op: Op, value: SSAValue, dims: Sequence[int]) -> SSAValue:
        """A reduction of dimensions, which stay with size one."""
        for dim in dims:
            value = self.emit(op, value, axis=dim)
        return value

    def mean(self, value: SSAValue, dims: Sequence[int]) -> SSAValue:
        """The mean over dimensions, which stay with size one."""
        shape = self.shape_of(value)
        count = int(np.prod([shape[dim] for dim in dims], dtype=np.int64))
        return self.mul(self.reduce(Op.REDUCE_SUM, value, dims), 1.0 / count)

    # -- images

    def to_nhwc(self, value: SSAValue) -> SSAValue:
        """An image with its channels last, as TOSA has images."""
        if len(self.shape_of(value)) != 4:
            raise CannotLegalize(f"an image of rank {len(self.shape_of(value))}")
        return self.transpose(value, NHWC_OF_NCHW)

    def to_nchw(self, value: SSAValue) -> SSAValue:
        """An image with its channels in front of rows and columns, as the edge level has images."""
        return self.transpose(value, NCHW_OF_NHWC)


def memory_order(type: Attribute) -> tuple[int, ...]:
    """The order of the dimensions of a tensor in memory."""
    assert is_tensor(type)
    return dim_order_of(type)


def is_tosa(op: Operation) -> bool:
    """Whether an op is of the dialect."""
    return isinstance(op, TosaOp | ConstOp | ConstShapeOp)
