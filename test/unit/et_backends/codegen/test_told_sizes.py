"""Sizes that a partition is told by those of its inputs."""

from __future__ import annotations

import pytest
from xdsl.dialects.builtin import f32
from xdsl.ir import Block

from et_backends.codegen.sizes import Known
from et_ir.dialects.schema.tensors import sized_tensor
from et_ops.sizes import Expression

S = Expression.of("s")


@pytest.mark.parametrize(
    ("sizes", "asked", "told"),
    [
        ((S,), 2 * S, "2*w0"),
        ((S - 2,), 8 * S - 16, "8*w0"),
        ((2 * S + 1,), S, "((w0 + 1) floordiv 2) - 1"),
    ],
)
def test_sums_tell_their_symbols(sizes: tuple[Expression, ...], asked: Expression, told: str) -> None:
    block = Block(arg_types=[sized_tensor(f32, sizes)])
    assert str(Known(block.args).told(asked)) == told


@pytest.mark.parametrize("size", [10 - S, S * S, S // 2], ids=str)
def test_sizes_that_do_not_tell_their_symbol(size: Expression) -> None:
    block = Block(arg_types=[sized_tensor(f32, [size])])
    with pytest.raises(ValueError, match="no input tells the size s"):
        Known(block.args).told(S)
