"""Make type promotion explicit. Operands that torch's kernels promote are converted to one element type.

Covers every operator that mixes types (`et_ops/facts/promotion.py`): arithmetic, comparisons, logic,
`where`, `cat`, `pow`, `remainder`, `maximum`, `clamp`, `addcmul` and so on, with torch's three classes of
operands, tensors with dimensions, tensors without, and Python numbers. Operators that assign (`copy`,
`slice_scatter`) convert to the type of their first operand. A value is converted once for all its uses, right
after its definition. So is the operand of a reduction or scan whose `dtype` no kernel makes of it: the mean
of integers, complex sums of real numbers. A number that torch rounds to the 16-bit type of the tensor beside it
(`rounds_numbers` of an operator's facts) is rounded here, and one that wraps in the type of integers is wrapped:
kernels of runtimes take it as it is. Bounds that torch refuses to convert to the type become the nearest integers. A
product or quotient of 16-bit floats and a second operand without dimensions of a wider type is computed in single
precision, as torch does.

```mlir
%1 = aten.mul.Tensor %x, %n : (tensor<4xf32>, tensor<4xi64>) -> tensor<4xf32>                   // before

%0 = aten._to_copy %n {dtype = f32} : (tensor<4xi64>) -> tensor<4xf32>                          // after
%1 = aten.mul.Tensor %x, %0 : tensor<4xf32>
```
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import Final

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType, bf16, f16, f32
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern
from xdsl.rewriter import InsertPoint

from et_ir.dialects.aten import ops as aten
from et_ir.dialects.counterparts import known_forms
from et_ir.dialects.edge import EdgeOp
from et_ir.dialects.edge import ops as edge
from et_ir.dialects.edge.promotion import computation_dtype, operands_of
from et_ir.dialects.schema import SchemaOp
from et_ir.dialects.schema.dtypes import attr_of, dtype_of
from et_ir.dialects.schema.tensors import is_tensor, tensor_type
from et_ir.evaluation.arrays import numpy_dtype
from et_ir.rewriting import rewrite
from et_ops import OPERATORS
from et_ops.dtypes import Category

__all__ = ["PromoteTypesPass"]


class PromoteOperands(RewritePattern):
    """Converts the operands of one op."""

    roots = (SchemaOp,)

    def __init__(self) -> None:
        self.converted: dict[tuple[SSAValue, Attribute], SSAValue] = {}

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        assert isinstance(op, SchemaOp)
        promotion = op.operator.facts.promotion
        if promotion is None:
            return
        tensors = [(i, v) for i, v in operands_of(op, *promotion.args) if is_tensor(v.type)]
        if len({v.type.element_type for _, v in tensors if is_tensor(v.type)}) < 2:
            return
        computed = computation_dtype(op, promotion)
        assert computed is not None
        if attr_of(computed) in (f16, bf16) and _keeps_numbers(op):
            self._compute_wide(op, rewriter)
            return
        for index, value in tensors:
            if is_tensor(value.type) and value.type.element_type != attr_of(computed):
                op.operands[index] = self._convert(value, attr_of(computed), op, rewriter)
        rewriter.notify_op_modified(op)

    def _compute_wide(self, op: SchemaOp, rewriter: PatternRewriter) -> None:
        """Compute in f32, and round the result."""
        arguments = op.args()
        for name in ("self", "other"):
            if tensor_type(arguments[name]).element_type != f32:
                arguments[name] = self._convert(arguments[name], f32, op, rewriter)
        result = tensor_type(op.results[0])
        wide = TensorType(f32, result.get_shape(), result.encoding)
        made = type(op).make(**arguments, result_types=[wide], location=op.location)
        rounded = _conversion(op).make(
            made.results[0], dtype=result.element_type, result_types=[result], location=op.location
        )
        rewriter.replace(op, [made, rounded])

    def _convert(
        self, value: SSAValue, dtype: Attribute, op: Operation, rewriter: PatternRewriter
    ) -> SSAValue:
        found = self.converted.get((value, dtype))
        if found is None:
            found = self.converted[value, dtype] = _converted(value, dtype, op, rewriter)
        return found


def _keeps_numbers(op: SchemaOp) -> bool:
    """Whether torch's kernel takes a second operand without dimensions as it is, not rounded to the 16-bit type of the
    first: as it takes numbers.
    """
    form = op.operator.facts.scalar_form
    if form is None or "other" not in op.args():
        return False
    other = tensor_type(op.args()["other"])
    is_held = dtype_of(other.element_type).is_integral and dtype_of(other.element_type).bits <= 8
    return not other.get_shape() and not is_held and "other" not in OPERATORS[form].facts.rounds_numbers


def _converted(value: SSAValue, dtype: Attribute, op: Operation, rewriter: PatternRewriter) -> SSAValue:
    """A copy of `value` in another element type, right after its definition, for the level of `op`."""
    type = value.type
    assert is_tensor(type)
    to = TensorType(dtype, type.get_shape(), type.encoding)
    owner = value.owner
    point = InsertPoint.after(owner) if isinstance(owner, Operation) else InsertPoint.at_start(owner)
    made = _conversion(op).make(value, dtype=dtype, result_types=[to])
    return rewriter.insert(made, point).result


def _conversion(op: Operation) -> type[SchemaOp]:
    """The op that converts, at the level of `op`."""
    return edge.DimOrderOpsUnderscoreToDimOrderCopyOp if isinstance(op, EdgeOp) else aten.UnderscoreToCopyOp


_WRAPPING: Final = frozenset({"other", "min", "max"})
"""Arguments whose integers wrap in the type of a tensor of integers."""


class RoundNumbers(RewritePattern):
    """Rounds numbers to the type of the tensors of 16-bit floats that they are combined with, and wraps integers to
    that of tensors of integers; bounds saturate where torch refuses them.
    """

    roots = (SchemaOp,)

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        assert isinstance(op, SchemaOp)
        tensors = [value.type for value in op.operands if is_tensor(value.type)]
        if not op.operator.is_pointwise or not tensors or not op.results:
            return
        result = tensor_type(op.results[0])
        element = tensors[0].element_type
        arguments = op.args()
        rounded: dict[str, int | float] = {}
        if element in (f16, bf16):
            for name in op.operator.facts.rounds_numbers:
                number = arguments[name]
                if type(number) in (int, float):
                    nearest = _rounded(number, element)
                    # Torch refuses exponents and factors that the type does not hold.
                    if nearest != number and (isfinite(nearest) or name in ("other", "self")):
                        rounded[name] = nearest
        elif dtype_of(element).category is Category.INTEGER and not dtype_of(result.element_type).is_float:
            for name in _WRAPPING & arguments.keys():
                number = arguments[name]
                if type(number) is int:
                    dtype = dtype_of(element)
                    # Torch refuses bounds that its conversion overflows on, but only when it computes.
                    is_beyond = name != "other" and not dtype.holds(number)
                    nearest = dtype.saturated(number) if is_beyond else dtype.wrapped(number)
                    if nearest != number:
                        rounded[name] = nearest
        if rounded:
            made = type(op).make(**(arguments | rounded), result_types=op.result_types, location=op.location)
            rewriter.replace(op, made)


def _rounded(number: float, element: Attribute) -> float:
    with np.errstate(over="ignore"):
        nearest = float(np.asarray(number).astype(numpy_dtype(element)))
    return int(nearest) if isinstance(number, int) and isfinite(nearest) else nearest


_ACCUMULATING = ("cumprod", "cumsum", "mean", "mean.dim", "prod", "prod.dim_int", "sum", "sum.dim_IntList")
"""Reductions and scans with a `dtype`, to which torch converts the operand first."""


class ConvertAccumulated(RewritePattern):
    """Converts the operand of a reduction or scan to its `dtype` where kernels do not."""

    roots = known_forms(*_ACCUMULATING)

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        assert isinstance(op, SchemaOp)
        value, result = op.operands[0].type, op.results[0].type
        if not is_tensor(value) or not is_tensor(result) or op.arg("dtype") is None:
            return
        given, wanted = dtype_of(value.element_type), dtype_of(result.element_type)
        of_integers = given.is_integral and op.name.partition(".")[2].startswith("mean")
        if of_integers or (wanted.is_complex and not given.is_complex):
            op.operands[0] = _converted(op.operands[0], result.element_type, op, rewriter)
            rewriter.notify_op_modified(op)


@dataclass(frozen=True)
class PromoteTypesPass(ModulePass):
    """Convert operands to one element type."""

    name = "promote-types"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        rewrite(op, [PromoteOperands(), ConvertAccumulated(), RoundNumbers()])
