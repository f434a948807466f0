"""Numbers known at run time only, as tensors of rank 0.

The code of a partition is told sizes and places, but computes with tensors and with numbers that are known when it is
compiled.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from et_backends.codegen.elements import ELEMENTS, element_of, is_float, is_integer
from et_ir.dialects.edge import OP_BY_NAME, EdgeOp
from et_ir.dialects.edge import ops as edge
from et_ir.dialects.schema.tensors import tensor_type
from et_ir.rewriting import rewrite
from et_ops import OPERATORS

__all__ = ["NumbersToTensorsPass"]

_OF_TENSORS: Final = {
    operator.facts.scalar_form: name
    for name, operator in OPERATORS.items()
    if operator.facts.scalar_form is not None and name in OP_BY_NAME
}
"""The overloads for tensors, by those whose last arguments are numbers."""
_ARGUMENTS: Final = ("other", "exponent")
"""The names of these numbers."""


@dataclass(frozen=True)
class NumbersToTensorsPass(ModulePass):
    """Give numbers that are known at run time as tensors.

    Before:

    ```mlir
    %n = edge._local_scalar_dense %t : (tensor<i64>) -> i64
    %1 = edge.mul.Scalar %x {other = %n} : (tensor<4xf32>, i64) -> tensor<4xf32>
    %2 = edge.mul.Scalar %x {other = %size} : (tensor<4xf32>, i64) -> tensor<4xf32>
    %3 = edge.full {size = [4], fill_value = %n} : (i64) -> tensor<4xf32>
    ```

    After:

    ```mlir
    %f = edge.dim_order_ops._to_dim_order_copy %t : (tensor<i64>) -> tensor<f32>
    %1 = edge.mul.Tensor %x, %f : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
    %s = edge.scalar_tensor %size : (i64) -> tensor<f32>
    %2 = edge.mul.Tensor %x, %s : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
    %3 = edge.expand_copy %f {size = [4]} : (tensor<f32>) -> tensor<4xf32>
    ```

    Numbers of floats beside integers keep their form, as the type of the result is another one then.
    """

    name = "numbers-to-tensors"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        rewrite(op, [_ToTensor()])


class _ToTensor(RewritePattern):
    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if isinstance(op, edge.FullOp):
            self._fill(op, rewriter)
        elif isinstance(op, EdgeOp):
            self._compute(op, rewriter)

    def _fill(self, op: edge.FullOp, rewriter: PatternRewriter) -> None:
        type = tensor_type(op.results[0])
        if not isinstance(op.fill_value, SSAValue) or type.element_type not in ELEMENTS:
            return
        value = _tensor(op.fill_value, type.element_type, rewriter)
        if value is not None:
            number = op.fill_value
            rewriter.replace(op, edge.ExpandCopyOp.make(value, op.size, result_types=[op.results[0].type]))
            _drop(number, rewriter)

    def _compute(self, op: EdgeOp, rewriter: PatternRewriter) -> None:
        form = _OF_TENSORS.get(op.name.removeprefix("edge."))
        if form is None:
            return
        arguments = op.args()
        given = [name for name in _ARGUMENTS if isinstance(arguments.get(name), SSAValue)]
        if len(given) != 1 or isinstance(arguments.get("alpha"), SSAValue):
            return
        element = element_of(op.operands[0])
        value = _tensor(arguments[given[0]], element, rewriter) if element in ELEMENTS else None
        if value is not None:
            number, arguments[given[0]] = arguments[given[0]], value
            rewriter.replace(op, OP_BY_NAME[form].make(**arguments, result_types=op.result_types))
            _drop(number, rewriter)


def _drop(number: SSAValue, rewriter: PatternRewriter) -> None:
    """Erase the op that reads a number which nothing else needs."""
    if isinstance(number.owner, edge.UnderscoreLocalScalarDenseOp) and not number.uses:
        rewriter.erase(number.owner)


def _tensor(number: SSAValue, element: Attribute, rewriter: PatternRewriter) -> SSAValue | None:
    """A number as a tensor of rank 0 whose elements have a type; None where that does not hold the number."""
    source = number.owner.operands[0] if isinstance(number.owner, edge.UnderscoreLocalScalarDenseOp) else None
    given = number.type if source is None else element_of(source)
    if not (is_float(element) or (is_integer(element) and given == element)):
        return None
    result = TensorType(element, [])
    if source is None:
        return rewriter.insert(
            edge.ScalarTensorOp.make(number, dtype=element, result_types=[result])
        ).results[0]
    if given != element:
        kept = tensor_type(source).get_shape()
        converted = edge.DimOrderOpsUnderscoreToDimOrderCopyOp.make(
            source, dtype=element, result_types=[TensorType(element, kept)]
        )
        source = rewriter.insert(converted).results[0]
    if tensor_type(source).get_num_dims():
        source = rewriter.insert(edge.ViewCopyOp.make(source, (), result_types=[result])).results[0]
    return source
