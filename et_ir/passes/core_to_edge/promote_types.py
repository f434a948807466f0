"""Convert operands that are computed together to one element type, as torch promotes them inside of its
kernels.

Covers every operator that mixes types (`et_ops/facts/promotion.py`): arithmetic, comparisons, logic,
`where`, `cat`, `pow`, `remainder`, `maximum`, `clamp`, `addcmul` and so on, with torch's three classes of
operands, tensors with dimensions, tensors without, and Python numbers. Operators that assign (`copy`,
`slice_scatter`) convert to the type of their first operand. A value is converted once for all its uses, right
after its definition.

```mlir
%1 = aten.mul.Tensor %x, %n : (tensor<4xf32>, tensor<4xi64>) -> tensor<4xf32>                   // before

%0 = aten._to_copy %n {dtype = f32} : (tensor<4xi64>) -> tensor<4xf32>                          // after
%1 = aten.mul.Tensor %x, %0 : tensor<4xf32>
```
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern
from xdsl.rewriter import InsertPoint

from et_ir.dialects.aten import ops as aten
from et_ir.dialects.edge import EdgeOp
from et_ir.dialects.edge import ops as edge
from et_ir.dialects.edge.promotion import computation_dtype, operands_of
from et_ir.dialects.schema import SchemaOp
from et_ir.dialects.schema.dtypes import attr_of
from et_ir.dialects.schema.tensors import is_tensor
from et_ir.rewriting import rewrite

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
        for index, value in tensors:
            if is_tensor(value.type) and value.type.element_type != attr_of(computed):
                op.operands[index] = self._convert(value, attr_of(computed), op, rewriter)
        rewriter.notify_op_modified(op)

    def _convert(
        self, value: SSAValue, dtype: Attribute, op: Operation, rewriter: PatternRewriter
    ) -> SSAValue:
        found = self.converted.get((value, dtype))
        if found is None:
            type = value.type
            assert is_tensor(type)
            to = TensorType(dtype, type.get_shape(), type.encoding)
            owner = value.owner
            point = InsertPoint.after(owner) if isinstance(owner, Operation) else InsertPoint.at_start(owner)
            cls = (
                edge.DimOrderOpsUnderscoreToDimOrderCopyOp
                if isinstance(op, EdgeOp)
                else aten.UnderscoreToCopyOp
            )
            made = cls.make(value, dtype=dtype, result_types=[to])
            found = self.converted[value, dtype] = rewriter.insert(made, point).result
        return found


@dataclass(frozen=True)
class PromoteTypesPass(ModulePass):
    """Convert operands to one element type."""

    name = "promote-types"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        rewrite(op, [PromoteOperands()])
