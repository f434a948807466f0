"""Functions of Python and torch on numbers known at run time only give what they give in Python."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.export import Dim
from xdsl.ir import Operation, SSAValue

from et_ir.dialects.program import ComputeOp, LiteralOp
from et_ir.dialects.schema.literals import literal_of
from et_ir.frontend import import_program
from et_ir.frontend.size_arithmetic import SizeArithmetic


def computed(name: str, *arguments: Any) -> Any:
    """What the ops for a call come to, for literals in the place of numbers known at run time only."""
    ops: list[Operation] = []

    def value(number: Any) -> Any:
        if isinstance(number, list):
            return [value(one) for one in number]  # pyright: ignore[reportUnknownVariableType] plain numbers
        ops.append(LiteralOp(number))
        return ops[-1].results[0]

    given = list(arguments) if name == "pow" else [value(one) for one in arguments]
    if name == "pow":
        given[0] = value(given[0])
    found = SizeArithmetic(ops.append).call(name, given)
    if found is None:
        return None
    values: dict[SSAValue, Any] = {}
    for op in ops:
        op.verify()
        match op:
            case ComputeOp():
                values[op.result] = op.evaluate([values[operand] for operand in op.inputs])
            case _:
                assert isinstance(op, LiteralOp)
                values[op.result] = literal_of(op.value)
    return values[found]


@pytest.mark.parametrize(
    ("name", "function", "calls"),
    [
        ("add", operator.add, [(3, 4), (3, 0.5)]),
        ("sub", operator.sub, [(3, 4)]),
        ("floordiv", operator.floordiv, [(7, 2), (-7, 2), (7.5, 2)]),
        ("truediv", operator.truediv, [(7, 2)]),
        ("mod", operator.mod, [(7, 4), (-7, 4), (8, 4)]),
        ("pow", operator.pow, [(3, 1), (3, 2), (3, 4)]),
        ("neg", operator.neg, [(3,)]),
        ("floor", math.floor, [(2.5,), (-2.5,), (2.0,)]),
        ("ceil", math.ceil, [(2.5,), (-2.5,)]),
        ("trunc", math.trunc, [(2.5,), (-2.5,)]),
        ("sym_max", max, [(3, 4)]),
        ("sym_min", min, [(3, 4)]),
        ("sym_float", float, [(3,)]),
        ("sym_int", int, [(-3.5,), (3,)]),
        ("sym_sum", sum, [([1, 2, 3],)]),
    ],
)
def test_as_in_python(name: str, function: Callable[..., Any], calls: Sequence[tuple[Any, ...]]) -> None:
    for arguments in calls:
        found, expected = computed(name, *arguments), function(*arguments)
        assert found == expected
        assert type(found) is type(expected)


@pytest.mark.parametrize(
    ("name", "arguments"), [("pow", (3, -0.5)), ("pow", (3, 99)), ("sqrt", (3,)), ("neg", (3, 4))]
)
def test_what_cannot_be_computed(name: str, arguments: tuple[Any, ...]) -> None:
    assert computed(name, *arguments) is None


def test_sizes_are_read_where_a_tensor_has_them() -> None:
    class Net(nn.Module):
        def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
            return torch.zeros(2 * x.shape[0] + 1), torch.cat([x, x]) + torch.ones(2 * x.shape[0], 1)

    dynamic = ({0: Dim("n", min=2, max=9)},)
    text = str(import_program(torch.export.export(Net(), (torch.randn(4, 3),), dynamic_shapes=dynamic)))
    assert text.count("program.compute") == 2
    assert text.count('program.compute "mul"') == 1
