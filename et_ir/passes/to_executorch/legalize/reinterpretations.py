"""Bytes of dynamic tensors as elements of another type."""

from __future__ import annotations

from math import prod
from typing import Any, Final

from xdsl.dialects.builtin import TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from et_ir.analysis.bounds import SizeBounds
from et_ir.dialects.edge import ops as edge
from et_ir.dialects.edge.attributes import contiguous, dim_order_of
from et_ir.dialects.executorch.layout import scalar_type
from et_ir.dialects.program import ComputeOp, LiteralOp
from et_ir.dialects.schema import DYNAMIC, SchemaOp
from et_ir.dialects.schema.tensors import is_static, tensor_type
from et_ir.rewriting import op_type_rewrite_pattern
from et_ir.targets.rewriting import TargetPattern

__all__ = ["PATTERNS"]


class PaddedReinterpretation(TargetPattern):
    """`view_copy.dtype` and `view_as_complex` of a tensor that has a largest size: padded to that, so that memory
    planned for it can be shown as another type, and sliced.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(
        self, op: edge.ViewCopyDtypeOp | edge.ViewAsComplexCopyOp, rewriter: PatternRewriter
    ) -> None:
        value, result = op.operands[0], tensor_type(op.results[0])
        source, rank = tensor_type(value), tensor_type(value).get_num_dims()
        in_order = all(dim_order_of(one) == contiguous(one.get_num_dims()) for one in (source, result))
        if op.operator.kernel in self.target.kernels or is_static(source) or not in_order:
            return
        sizes = [size for size in SizeBounds(_method_of(op).body.block).sizes(value) if size is not None]
        if len(sizes) != rank:
            return
        ours, theirs = scalar_type(source.element_type).itemsize, scalar_type(result.element_type).itemsize
        split, joined = max(ours // theirs, 1), max(theirs // ours, 1)
        # Elements of the result for one of the argument, and the other way around.
        most = -(-prod(sizes) // joined) * joined

        def make(cls: type[SchemaOp], *args: Any, **kwargs: Any) -> SSAValue:
            return rewriter.insert(cls.make(*args, **kwargs)).results[0]

        def compute(function: str, *numbers: SSAValue | int) -> SSAValue:
            values = [
                number if isinstance(number, SSAValue) else rewriter.insert(LiteralOp(number)).results[0]
                for number in numbers
            ]
            return rewriter.insert(ComputeOp(function, values)).results[0]

        def scaled(number: SSAValue) -> SSAValue:
            if split == joined:
                return number
            return compute("mul", number, split) if split > 1 else compute("floordiv", number, joined)

        flat = make(edge.ViewCopyOp, value, [-1])
        count = make(edge.SymSizeIntOp, flat, 0)
        padding = [0, compute("sub", most, count)]
        whole = make(
            edge.ConstantPadNdOp,
            flat,
            padding,
            0,
            result_types=[TensorType[Attribute](source.element_type, [most])],
        )
        shown = make(edge.ViewCopyDtypeOp, whole, result.element_type)
        part = make(edge.SliceCopyTensorOp, shown, 0, 0, scaled(count))
        shape: list[SSAValue | int] = list(result.get_shape())
        for dim, size in enumerate(shape):
            if size == DYNAMIC:
                known = make(edge.SymSizeIntOp, value, dim)
                # The last one is the parts of complex numbers, and gone.
                shape[dim] = scaled(known) if dim == rank - 1 else known
        rewriter.replace(op, edge.ViewCopyOp.make(part, shape, result_types=[result]))


def _method_of(op: Operation) -> FuncOp:
    parent = op.parent_op()
    while not isinstance(parent, FuncOp):
        assert parent is not None
        parent = parent.parent_op()
    return parent


PATTERNS: Final = (PaddedReinterpretation,)
