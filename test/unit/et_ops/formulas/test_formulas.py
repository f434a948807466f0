"""Every formula against torch, at zeros, infinities, NaN, the ends of the range and around thresholds.

Formulas are tried as numpy computes them, and without the functions of numpy that a back end may lack, so that these
are made of others.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf, nan
from typing import Any, Final

import numpy as np
import pytest
import torch
from support.accuracy import ELEMENTARY, assert_accurate

from et_ops.formulas import FORMULAS, LacksFunction, Literal, lacking
from et_ops.library import OPERATORS
from et_vm.kernels.array_formulas import FUNCTIONS, ArrayBuilder
from et_vm.values import Array

MODERATE: Final = (
    *(0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, 3.0, -3.0, 6.0, -6.0, 20.0, -20.0, 19.99, 20.01),
    *(0.999999, 1.000001, -0.999999, -1.000001, 2.999999, 3.000001, -3.000001, 10.0, -10.0, 0.1, -0.1),
    *(1e-3, -1e-3, 1e-7, -1e-7, 1e-20, -1e-20, 1e-37, -1e-37),
)
LARGE: Final = (
    30.0,
    -30.0,
    80.0,
    -80.0,
    88.5,
    -88.5,
    89.2,
    -89.2,
    1e3,
    -1e3,
    1e9,
    -1e9,
    1e20,
    -1e20,
    3e38,
    -3e38,
)
NOT_FINITE: Final = (inf, -inf, nan)
ANY: Final = (*MODERATE, *LARGE, *NOT_FINITE)
ANGLES: Final = (*MODERATE, 30.0, -30.0, *NOT_FINITE)

OTHERS: Final = (0.0, -0.0, 1.0, -1.0, 3.0, -0.7, 1e-20, 3e38, -3e38, inf, -inf, nan)

RELATIVE: Final = "relative"
OPERAND: Final = "relative to the operand"
ONE: Final = "relative to one, or to the result where it is larger"


@dataclass(frozen=True)
class Case:
    """Arguments of an operator: numbers that take the place of its first tensor, and the others, or further tensors."""

    arguments: tuple[Any, ...] = ()
    numbers: Sequence[float] = ANY
    accuracy: str = RELATIVE


PAIR: Final = "a tensor of all pairs"
"""Stands for a tensor of other numbers, with which each one meets each."""

CASES: Final[dict[str, list[Case]]] = {
    **{name: [Case()] for name in ("neg", "reciprocal", "rsqrt", "square", "sign", "trunc", "relu", "exp2")},
    **{
        name: [Case()]
        for name in ("expm1", "sinh", "cosh", "asinh", "isnan", "isinf", "log2", "log10", "sigmoid")
    },
    **{name: [Case(accuracy=OPERAND)] for name in ("silu", "hardswish", "mish")},
    "log1p": [Case()],
    "acosh": [Case()],
    "atanh": [Case()],
    "tan": [Case((), ANGLES)],
    "copysign": [Case((PAIR,), [0.0, 1.0, 3e38, inf])],
    **{
        f"{name}.Tensor": [Case((PAIR,), accuracy=OPERAND), Case((PAIR, 0.5), accuracy=OPERAND)]
        for name in ("add", "sub")
    },
    **{
        f"{name}.Scalar": [Case((other, 2), accuracy=OPERAND) for other in (0.5, -0.0, inf)]
        for name in ("add", "sub")
    },
    "rsub.Scalar": [Case((other, 0.5), accuracy=OPERAND) for other in (0.5, -0.0, inf)],
    **{f"{name}.Tensor": [Case((PAIR,))] for name in ("mul", "div", "eq", "ne", "lt", "le", "gt", "ge")},
    **{
        f"{name}.Scalar": [Case((other,)) for other in (0.5, -3.0, 0.0, inf)]
        for name in ("mul", "div", "eq", "ne", "lt", "le", "gt", "ge")
    },
    "div.Tensor_mode": [Case((PAIR, "trunc")), Case((PAIR, None))],
    "div.Scalar_mode": [Case((0.7, "trunc")), Case((-3.0, None))],
    "pow.Tensor_Scalar": [Case((exponent,)) for exponent in (0, 0.5, -0.5, -1, 1, 2, 3, 0.25, -2, inf)],
    "pow.Tensor_Tensor": [Case((PAIR,))],
    "pow.Scalar": [Case(numbers=(0.0, -1.0, 1.5, -0.5, 20.0, -20.0, inf, -inf, nan))],
    "clamp": [
        Case(bounds)
        for bounds in ((-1.0, 3.0), (None, 0.0), (0.0, None), (3.0, -1.0), (nan, 1.0), (-inf, inf))
    ],
    "hardtanh": [Case(bounds) for bounds in ((-1.0, 1.0), (0.0, 6.0))],
    "clamp.Tensor": [Case((PAIR, None)), Case((None, PAIR))],
    "gelu": [Case(("none",), accuracy=OPERAND), Case(("tanh",), accuracy=OPERAND)],
    "hardsigmoid": [Case(accuracy=ONE)],
    "leaky_relu": [Case((slope,)) for slope in (0.01, 0.0, -2.0, inf)],
    "elu": [
        Case(scales)
        for scales in (
            (1.0, 1.0, 1.0),
            (1.6732632, 1.050701, 1.0),
            (2.0, 1.0, 0.5),
            (-1.0, 3.0, 2.0),
            (inf, 1.0, 1.0),
        )
    ],
    "threshold": [Case((0.5, -7.0))],
    "softplus": [Case((1.0, 20.0)), Case((0.5, 20.0)), Case((3.0, 1.0))],
    "logit": [Case((None,), accuracy=ONE), Case((0.125,), accuracy=ONE), Case((-1.0,), accuracy=ONE)],
}


def in_torch(name: str, arguments: Sequence[Any]) -> torch.Tensor:
    if name not in OPERATORS:
        return getattr(torch, name)(*arguments)
    packet, _, overload = name.partition(".")
    operator = getattr(getattr(torch.ops.aten, packet), overload or "default")
    named = {
        argument.name: given for argument, given in zip(OPERATORS[name].schema.args, arguments, strict=False)
    }
    return operator(**named)


def _arguments(name: str, case: Case, dtype: torch.dtype) -> list[Any]:
    numbers = torch.tensor(case.numbers, dtype=dtype)
    if name == "pow.Scalar":
        return [2.5, numbers]
    if name == "where.self":
        return [numbers > 0, numbers, numbers * 2]
    if PAIR not in case.arguments:
        return [numbers, *case.arguments]
    other = torch.tensor(OTHERS, dtype=dtype)
    return [numbers[:, None], *(other if one is PAIR else one for one in case.arguments)]


def _scale(case: Case, arguments: Sequence[Any], truth: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """The size that errors are measured by."""
    size = truth.abs()
    if case.accuracy == ONE:
        size = torch.clamp(size, min=1.0)
    if case.accuracy == OPERAND:
        for one in arguments:
            if isinstance(one, (torch.Tensor, float)):
                size = torch.maximum(size, torch.as_tensor(one).double().abs())
    # What is below the smallest normal number may be zero.
    least = torch.finfo(dtype).smallest_normal / (math.sqrt(ELEMENTARY) * torch.finfo(dtype).eps)
    return torch.where(size.isfinite(), size, 0).clamp(min=least)


def _computed(tensor: torch.Tensor) -> torch.Tensor:
    """A tensor in the type that it is computed in."""
    return tensor.float() if tensor.dtype in (torch.float16, torch.bfloat16) else tensor


def check(
    name: str, case: Case, builder: ArrayBuilder, dtype: torch.dtype, *, either_zero: bool = False
) -> None:
    arguments = _arguments(name, case, dtype)
    arrays = [_computed(one).numpy() if isinstance(one, torch.Tensor) else one for one in arguments]
    with np.errstate(all="ignore"):
        found = torch.from_numpy(np.array(builder.operator(name, *arrays)))
    found = found if found.dtype == torch.bool else found.to(dtype)
    wide = [
        one.double() if isinstance(one, torch.Tensor) and one.is_floating_point() else one
        for one in arguments
    ]
    truth = in_torch(name, wide)
    if found.dtype == torch.bool:
        assert torch.equal(found, truth)
        return
    zeros = (found == 0) & (truth == 0)
    signs = found.signbit() == truth.signbit()
    assert either_zero or name in EITHER_ZERO or signs[zeros].all(), f"{name}{case.arguments}: signs of zeros"
    assert_accurate(
        found, truth, ELEMENTARY, scale=_scale(case, wide, truth, dtype), what=f"{name}{case.arguments}"
    )


EITHER_ZERO: Final = ("relu", "clamp", "hardtanh", "clamp.Tensor")
"""Operators whose zeros may have either sign, as 0.0 and -0.0 are equal."""

LESS: Final = {
    "all of numpy's": (),
    "no function that has a formula": tuple(FORMULAS.keys() & FUNCTIONS.keys()),
}
DTYPES: Final = (torch.float32, torch.float64, torch.float16, torch.bfloat16)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("without", LESS)
@pytest.mark.parametrize("name", FORMULAS)
def test_a_formula_agrees_with_torch(name: str, without: str, dtype: torch.dtype) -> None:
    for case in CASES.get(name, [Case()]):
        check(name, case, ArrayBuilder(LESS[without]), dtype)


class WithoutSelection(ArrayBuilder):
    """The functions of a back end that selects nothing."""

    def __init__(self) -> None:
        super().__init__(("select", "copysign"))

    def native(self, name: str, literals: Sequence[Literal]) -> Callable[..., Array] | None:
        if name == "elu":
            return (lambda x: np.where(x > 0, x, np.expm1(x))) if tuple(literals) == (1, 1, 1) else None
        return super().native(name, literals)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_elu_without_selection(dtype: torch.dtype) -> None:
    finite, infinite = CASES["elu"][:-1], CASES["elu"][-1]
    for case in finite:
        check("elu", case, WithoutSelection(), dtype, either_zero=True)
    with pytest.raises(LacksFunction, match="select"):
        check("elu", infinite, WithoutSelection(), dtype)


def test_a_function_that_is_lacking_is_named() -> None:
    native = ArrayBuilder(("expm1", "log1p", "tanh")).native
    assert lacking(native, "elu", (object(), 1.0, 1.0, 1.0)) == "tanh"
    assert lacking(native, "log1p", (object(),)) is None
    assert lacking(native, "div.Scalar_mode", (object(), 2.0, "floor")) == "remainder"
    assert lacking(native, "erfinv", (object(),)) == "erfinv"


def test_formulas_of_each_other_come_to_an_end() -> None:
    assert lacking(ArrayBuilder(("div", "reciprocal")).native, "sigmoid", (object(),)) == "div"


def test_every_formula_is_of_an_operator_or_a_function_of_builders() -> None:
    assert {name for name in FORMULAS if name not in OPERATORS} == {"copysign"}
