"""Sinking of scales past views of matrices to products.

A cache in bytes is dequantized as a whole, and attention reads it then. Where what dequantizes it is next to the
product, attention reads the bytes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from et_backends.codegen.kernels.attention_operands import CAST, dequantized
from et_backends.codegen.kernels.pointwise_rules import operator_name
from et_ir.dialects.edge import OP_BY_NAME
from et_ir.dialects.schema import SchemaOp
from et_ir.dialects.schema.tensors import tensor_type
from et_ops.dtypes import F32

__all__ = ["SinkScalesPass"]


@dataclass(frozen=True)
class SinkScalesPass(ModulePass):
    """Dequantize bytes next to products.

    Before:

    ```mlir
    %1 = edge.mul.Tensor %0, %scales : (tensor<1x2x64x8xf32>, tensor<1x2x64x1xf32>) -> tensor<1x2x64x8xf32>  // of bytes
    %2 = edge.view_copy %1 {size = [2, 64, 8]} : (tensor<1x2x64x8xf32>) -> tensor<2x64x8xf32>
    %3 = edge.bmm %x, %2 : (tensor<2x1x64xf32>, tensor<2x64x8xf32>) -> tensor<2x1x8xf32>
    ```

    After:

    ```mlir
    %1 = edge.view_copy %bytes {size = [2, 64, 8]} : (tensor<1x2x64x8xi8>) -> tensor<2x64x8xi8>
    %2 = edge.dim_order_ops._to_dim_order_copy %1 {dtype = f32} : (tensor<2x64x8xi8>) -> tensor<2x64x8xf32>
    %3 = edge.view_copy %scales {size = [2, 64, 1]} : (tensor<1x2x64x1xf32>) -> tensor<2x64x1xf32>
    %4 = edge.mul.Tensor %2, %3 : (tensor<2x64x8xf32>, tensor<2x64x1xf32>) -> tensor<2x64x8xf32>
    %5 = edge.bmm %x, %4 : (tensor<2x1x64xf32>, tensor<2x64x8xf32>) -> tensor<2x1x8xf32>
    ```
    """

    name = "sink-scales"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in op.body.block.ops:
            if isinstance(function, FuncOp) and not function.is_declaration:
                for inner in list(function.body.block.ops):
                    if isinstance(inner, SchemaOp) and operator_name(inner) == "bmm":
                        _sink(inner)


def _sink(product: SchemaOp) -> None:
    """Dequantize the right operand of a product behind its views."""
    views: list[SchemaOp] = []
    value = product.operands[1]
    while value.has_one_use() and isinstance(owner := value.owner, SchemaOp) and _keeps_rows(owner):
        views.append(owner)
        value = owner.operands[0]
    multiply = value.owner
    if not views or not value.has_one_use() or not isinstance(multiply, SchemaOp):
        return
    found = dequantized(multiply, -1)
    if found is None:
        return
    cast, scales = found
    block = product.parent
    assert block is not None

    def make(name: str, *args: Any, **options: Any) -> SSAValue:
        made = OP_BY_NAME[name].make(*args, location=multiply.location, **options)
        block.insert_op_before(made, product)
        return made.results[0]

    integers = cast.operands[0]
    one = -1  # the dimension in which there is one scale
    for view in reversed(views):
        if operator_name(view) == "permute_copy":
            integers = make("permute_copy", integers, view.arg("dims"))
            scales = make("permute_copy", scales, view.arg("dims"))
            one = -3 - one
        else:
            shape = list(tensor_type(view.results[0]).get_shape())
            integers = make("view_copy", integers, shape)
            shape[one] = 1
            scales = make("view_copy", scales, shape)
    product.operands[1] = make("mul.Tensor", make(CAST, integers, dtype=F32), scales)
    for op in (*views, multiply, cast):
        block.erase_op(op)


def _keeps_rows(op: SchemaOp) -> bool:
    """Whether an op gives the batch of matrices another shape, or transposes them."""
    before, after = (tensor_type(one).get_shape() for one in (op.operands[0], op.results[0]))
    if len(before) < 3 or min(*before, *after) < 0:
        return False
    if operator_name(op) == "permute_copy":
        dims = [int(dim) % len(before) for dim in op.arg("dims")]
        return dims == [*range(len(dims) - 2), len(dims) - 1, len(dims) - 2]
    return operator_name(op) == "view_copy" and before[-2:] == after[-2:]
