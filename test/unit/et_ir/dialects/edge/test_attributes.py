"""The dim order of a tensor type."""

import pytest
from support.modules import context, parse
from xdsl.dialects.builtin import TensorType, f32
from xdsl.parser import Parser
from xdsl.utils.exceptions import VerifyException

from et_ir.dialects.edge.attributes import (
    CHANNELS_LAST,
    DimOrderAttr,
    contiguous,
    dim_order_of,
    is_channels_last,
    with_dim_order,
)


def test_round_trip() -> None:
    text = "tensor<1x2x3x4xf32, #edge.dim_order<0, 2, 3, 1>>"
    type = Parser(context(), text).parse_type()
    assert isinstance(type, TensorType)
    assert str(type) == text
    assert dim_order_of(type) == (0, 2, 3, 1)
    assert is_channels_last(type)


def test_contiguous_has_no_encoding() -> None:
    type = TensorType(f32, [1, 2, 3, 4])
    assert dim_order_of(type) == contiguous(4) == (0, 1, 2, 3)
    laid_out = with_dim_order(type, CHANNELS_LAST[4])
    assert laid_out != type
    assert with_dim_order(laid_out, (0, 1, 2, 3)) == type
    assert with_dim_order(laid_out, CHANNELS_LAST[4]) is laid_out
    assert not is_channels_last(type)


@pytest.mark.parametrize(
    ("order", "label"),
    [((0, 2), "dim_order_c1"), ((1, 1), "dim_order_c1"), ((0, 1, 2), "dim_order_c2")],
)
def test_invalid(order: tuple[int, ...], label: str) -> None:
    with pytest.raises(VerifyException, match=label):
        DimOrderAttr.of(order)


def test_an_order_must_fit() -> None:
    with pytest.raises(ValueError, match=r"dim order \[0, 1\] does not fit"):
        with_dim_order(TensorType(f32, [4]), (0, 1))


def test_an_order_of_another_rank_does_not_verify() -> None:
    with pytest.raises(VerifyException, match="dim_order_c3"):
        parse("""
        func.func @forward(%x: tensor<4xf32>) -> tensor<4xf32> {
          %0 = edge.relu %x : (tensor<4xf32>) -> tensor<4xf32, #edge.dim_order<1, 0>>
          func.return %x : tensor<4xf32>
        }""")
