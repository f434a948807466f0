"""Functions of Python and torch on numbers known at run time only give what they give in Python."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch
from support.aten_interpreter import Interpreter
from torch import Tensor, nn
from torch.export import Dim
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from et_ir.dialects.program import ComputeOp, LiteralOp
from et_ir.dialects.program.ops import literal_attribute
from et_ir.dialects.schema.literals import literal_of
from et_ir.frontend import import_program
from et_ir.frontend.size_arithmetic import SizeArithmetic


def computed(name: str, *arguments: Any, known: bool = False) -> Any:
    """The value of the ops for a call on numbers known at run time only; with `known`, only the first is."""
    ops: list[Operation] = []

    def value(number: Any) -> Any:
        if isinstance(number, list):
            return [value(one) for one in number]  # pyright: ignore[reportUnknownVariableType] plain numbers
        if number is None:
            return None
        _, type = literal_attribute(number)
        ops.append(LiteralOp(number))
        # Hidden behind an op, a literal is not a number that the arithmetic knows.
        ops.append(ComputeOp("ite", [LiteralOp(True).result, ops[-1].results[0], ops[-1].results[0]]))
        assert ops[-1].results[0].type == type
        return ops[-1].results[0]

    given = [one if known and i else value(one) for i, one in enumerate(arguments)]
    found = SizeArithmetic(ops.append).call(name, given)
    if found is None:
        return None
    values: dict[SSAValue, Any] = {}

    def number_of(operand: SSAValue) -> Any:
        return literal_of(operand.owner.value) if isinstance(operand.owner, LiteralOp) else values[operand]

    interpreter = Interpreter(ModuleOp([]))
    for op in ops:
        op.verify()
        if not isinstance(op, LiteralOp):
            (values[op.results[0]],) = interpreter.evaluate(op, [number_of(one) for one in op.operands])
    return number_of(found)


ON_INTEGERS = [(7, 2), (-7, 2), (7, -2), (-8, -3), (0, 5), (3, 3), (12, 6)]
ON_FLOATS = [
    (7.5, 2.0),
    (-7.5, 2.0),
    (4.2, 0.5),
    (-4.2, 0.5),
    (4.2, -0.5),
    (0.0, 3.0),
    (2.5, 2.5),
    (7, 0.5),
    (2.5, 2),
]
NUMBERS = [(2.5,), (-2.5,), (3.5,), (2.0,), (-0.3,), (0.0,), (7,), (-7,)]
POWERS = [
    (2, 0),
    (2, 1),
    (2, 10),
    (-2, 5),
    (-3, 4),
    (0, 0),
    (0, 7),
    (1, 1000),
    (-1, 1001),
    (-1, 1000),
    (3, 39),
    (2, 62),
]
BOOLS = [(False, False), (False, True), (True, False), (True, True)]


@pytest.mark.parametrize(
    ("name", "function", "calls"),
    [
        ("add", operator.add, [*ON_INTEGERS, *ON_FLOATS]),
        ("sub", operator.sub, [*ON_INTEGERS, *ON_FLOATS]),
        ("mul", operator.mul, [*ON_INTEGERS, *ON_FLOATS]),
        ("floordiv", operator.floordiv, [*ON_INTEGERS, *ON_FLOATS]),
        ("truediv", operator.truediv, [*ON_INTEGERS, *ON_FLOATS]),
        ("mod", operator.mod, [*ON_INTEGERS, *ON_FLOATS]),
        (
            "pow",
            operator.pow,
            [*POWERS, (2.5, -0.5), (2.5, 0.5), (3.0, 2.0), (3.0, -1.0), (-2.0, 3.0), (9, 0.5)],
        ),
        ("neg", operator.neg, NUMBERS),
        ("abs", abs, NUMBERS),
        ("floor", math.floor, NUMBERS),
        ("ceil", math.ceil, NUMBERS),
        ("trunc", math.trunc, NUMBERS),
        ("round", round, [*NUMBERS, (2.5, None)]),
        ("sym_max", torch.sym_max, [*ON_INTEGERS, *ON_FLOATS]),
        ("sym_min", torch.sym_min, [*ON_INTEGERS, *ON_FLOATS]),
        ("sym_float", float, [*NUMBERS, (True,)]),
        ("sym_int", int, [*NUMBERS, (True,)]),
        ("sym_sum", sum, [([1, 2, 3],), ([4],)]),
        ("sym_not", operator.not_, [(True,), (False,)]),
        ("sym_ite", torch.sym_ite, [(True, 3, 4), (False, 3, 4), (False, 1.5, 2.5), (True, False, True)]),
        *(
            (name, getattr(operator, name), [*ON_INTEGERS, *ON_FLOATS, (3, 3.0)])
            for name in ("eq", "ne", "lt", "le", "gt", "ge")
        ),
        *((name, getattr(operator, name), BOOLS) for name in ("eq", "ne", "and_", "or_")),
        *((name, getattr(operator, name), ON_INTEGERS) for name in ("and_", "or_")),
        ("lshift", operator.lshift, [(5, 0), (5, 3), (-5, 40)]),
        ("rshift", operator.rshift, [(5, 0), (21, 3), (-5, 1), (-5, 62)]),
        ("_sym_sqrt", math.sqrt, [(2.0,), (16.0,), (7,)]),
        ("sym_exp", math.exp, [(0.0,), (1.0,)]),
    ],
)
@pytest.mark.parametrize("known", [False, True])
def test_as_in_python(
    name: str, function: Callable[..., Any], calls: Sequence[tuple[Any, ...]], known: bool
) -> None:
    for arguments in calls:
        found, expected = computed(name, *arguments, known=known), function(*arguments)
        # Torch's vectors of roots are not all rounded as Python's are.
        assert found == pytest.approx(expected, rel=1e-15, abs=0), arguments
        assert type(found) is type(expected), arguments


def test_negative_powers_of_integers() -> None:
    assert computed("pow", 4, -2, known=True) == 4**-2


def test_truth_counts_as_one() -> None:
    assert computed("add", True, 3) == 4
    assert computed("eq", True, 1) is True
    assert computed("sym_ite", True, 2, 0.5) == 2.0


@pytest.mark.parametrize(
    ("name", "arguments"),
    [("round", (2.25, 1)), ("is_integer", (3.0,)), ("neg", (3, 4)), ("and_", (3, 0.5)), ("sym_not", (3,))],
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
