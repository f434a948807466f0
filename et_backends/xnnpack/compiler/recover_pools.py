"""Recover means over images from the operators that they came down to. Images stay as XNNPACK has them.

```mlir
%1 = edge.view_copy %x {size = [1, 64, 49]} : (tensor<1x64x7x7xf32>) -> tensor<1x64x49xf32>
%2 = edge.mean.dim %1 {dim = [-1], keepdim = true} : (tensor<1x64x49xf32>) -> tensor<1x64x1xf32>
// becomes
%1 = edge.mean.dim %x {dim = [2, 3], keepdim = true} : (tensor<1x64x7x7xf32>) -> tensor<1x64x1x1xf32>
%2 = edge.view_copy %1 {size = [1, 64, 1]} : (tensor<1x64x1x1xf32>) -> tensor<1x64x1xf32>
```

The view would have the image with its channels first in memory, and all of it moved; now one element of each channel
is.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from et_ir.dialects.edge import ops as edge
from et_ir.dialects.schema.tensors import tensor_type

__all__ = ["recover_pools"]


def recover_pools(module: ModuleOp) -> None:
    """Put means over height and width into the place of means over both flattened."""
    for op in list(module.walk()):
        if isinstance(op, edge.MeanDimOp):
            _recover(op)


def _recover(op: edge.MeanDimOp) -> None:
    view = op.operands[0].owner
    if not isinstance(view, edge.ViewCopyOp) or op.arg("dtype") is not None:
        return
    image = view.operands[0]
    before, after = (tensor_type(value).get_shape() for value in (image, view.result))
    if len(before) != 4 or len(after) != 3 or before[:2] != after[:2] or op.arg("dim") not in ((-1,), (2,)):
        return
    if sum(size < 0 for size in before) > 1 or min(before[2:]) < 0:
        return
    block = op.parent_block()
    assert block is not None
    mean = edge.MeanDimOp.make(image, (2, 3), True, location=op.location)
    shape = tensor_type(op.result).get_shape()
    result = edge.ViewCopyOp.make(mean, tuple(shape), result_types=[op.result.type], location=op.location)
    block.insert_ops_before([mean, result], op)
    result.result.name_hint = op.result.name_hint
    op.result.replace_all_uses_with(result.result)
    block.erase_op(op)
    if not view.result.uses:
        view_block = view.parent_block()
        assert view_block is not None
        view_block.erase_op(view)
