"""Result types of edge ops: torch's, with memory layout."""

import pytest
from xdsl.dialects import test
from xdsl.dialects.builtin import TensorType, f16, f32, i64
from xdsl.ir import Attribute, SSAValue

from et_ir.dialects.edge import DimOrderAttr
from et_ir.dialects.edge import ops as edge

LAST = DimOrderAttr.of((0, 2, 3, 1))
NCHW = TensorType(f32, [1, 2, 3, 4])
NHWC = TensorType(f32, [1, 2, 3, 4], LAST)


def value(type: Attribute) -> SSAValue:
    return test.TestOp(result_types=[type]).results[0]


def test_without_layout_as_torch() -> None:
    assert edge.AddTensorOp.make(value(NCHW), value(TensorType(f32, [4]))).result.type == NCHW


def test_pointwise_and_sharing_operators_keep_channels_last() -> None:
    assert edge.ReluOp.make(value(NHWC)).result.type == NHWC
    assert edge.AddTensorOp.make(value(NHWC), value(NHWC)).result.type == NHWC
    weight = value(TensorType(f32, [5, 2, 1, 1], LAST))
    made = edge.ConvolutionOp.make(value(NHWC), weight, None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1)
    assert made.result.type == TensorType(f32, [1, 5, 3, 4], LAST)


def test_broadcasting_gives_contiguous_results() -> None:
    assert edge.AddTensorOp.make(value(NHWC), value(TensorType(f32, [4]))).result.type == NCHW


def test_dim_order_operators() -> None:
    clone = edge.DimOrderOpsUnderscoreCloneDimOrderOp
    assert clone.make(value(NCHW), dim_order=[0, 2, 3, 1]).result.type == NHWC
    assert clone.make(value(NHWC), dim_order=[0, 1, 2, 3]).result.type == NCHW
    assert clone.make(value(NHWC)).result.type == NHWC
    convert = edge.DimOrderOpsUnderscoreToDimOrderCopyOp
    assert convert.make(value(NHWC), dtype=f16).result.type == TensorType(f16, [1, 2, 3, 4], LAST)
    empty = edge.DimOrderOpsUnderscoreEmptyDimOrderOp
    assert empty.make([1, 2, 3, 4], dim_order=[0, 2, 3, 1]).result.type == NHWC
    assert empty.make([2], dtype=f16).result.type == TensorType(f16, [2])


def test_dim_order_operators_take_tensors() -> None:
    with pytest.raises(TypeError, match="takes a tensor"):
        edge.DimOrderOpsUnderscoreCloneDimOrderOp.make(value(i64))
