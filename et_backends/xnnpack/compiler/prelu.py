"""Recovery of `prelu` from the operators that it came down to:

```mlir
%1 = edge.gt.Scalar %x {other = 0} : (tensor<2x6xf32>) -> tensor<2x6xi1>
%2 = edge.mul.Tensor %x, %slope : (tensor<2x6xf32>, tensor<6xf32>) -> tensor<2x6xf32>
%3 = edge.where.self %1, %x, %2 : (tensor<2x6xi1>, tensor<2x6xf32>, tensor<2x6xf32>) -> tensor<2x6xf32>
```

XNNPACK takes the three together, or none: it has no booleans.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.ir import Block, SSAValue

from et_backends.xnnpack.compiler.constants import DATATYPES, is_constant
from et_ir.dialects.edge import ops as edge
from et_ir.dialects.schema import SchemaOp
from et_ir.dialects.schema.tensors import has_equal_sizes, tensor_type

__all__ = ["Prelu", "find_prelu", "prelus"]


@dataclass(frozen=True)
class Prelu:
    """Result of the three ops."""

    x: SSAValue
    slope: SSAValue
    ops: tuple[SchemaOp, SchemaOp, SchemaOp]
    """In their order; the last one gives the result."""


def prelus(block: Block) -> Iterator[Prelu]:
    """All of a block, and of the blocks in it."""
    for op in block.walk():
        if isinstance(op, edge.WhereSelfOp):
            found = find_prelu(op)
            if found is not None:
                yield found


def find_prelu(op: SchemaOp) -> Prelu | None:
    """The pattern that a selection completes, `None` if it completes none."""
    mask, x, scaled = op.operands
    test, product = mask.owner, scaled.owner
    if not isinstance(test, edge.GtScalarOp) or not isinstance(product, edge.MulTensorOp):
        return None
    if test.operands[0] is not x or test.arg("other") != 0:
        return None
    if any(len(list(part.result.uses)) != 1 or part.parent is not op.parent for part in (test, product)):
        return None
    slope = next((value for value in product.operands if value is not x), None)
    if slope is None or not is_constant(slope) or x not in product.operands:
        return None
    types = [tensor_type(value) for value in (x, slope, op.results[0])]
    if types[0].element_type not in DATATYPES or len({type.element_type for type in types}) > 1:
        return None
    if not has_equal_sizes(types[0], types[2]) or not types[0].get_num_dims():
        return None
    first, second = (product, test) if product.is_before_in_block(test) else (test, product)
    return Prelu(x, slope, (first, second, op))
