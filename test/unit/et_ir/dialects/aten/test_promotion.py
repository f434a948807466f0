"""Element types promote as they do in torch, for all pairs and all kinds of operands."""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import pytest
import torch
from xdsl.dialects import test as xdsl_test
from xdsl.dialects.builtin import TensorType, f64, i1, i64
from xdsl.ir import Attribute, SSAValue

from dev.calls import DTYPES
from et_ir.dialects.aten import OP_BY_NAME
from et_ir.dialects.schema.dtypes import attr_of, dtype_of
from et_ir.dialects.schema.literals import ELEMENT_TYPES
from et_ops.dtypes import as_float, promote, real_of

TORCH = {ELEMENT_TYPES[name]: dtype for dtype, name in DTYPES.items()}
PAIRS = list(itertools.product(TORCH, TORCH))


def test_pairs_promote_as_in_torch() -> None:
    for a, b in PAIRS:
        assert TORCH[attr_of(promote(dtype_of(a), dtype_of(b)))] is torch.promote_types(TORCH[a], TORCH[b])


def test_promotion_is_a_join() -> None:
    """Commutative, idempotent, associative where torch is, and an upper bound of itself."""
    for a, b in PAIRS:
        found = promote(dtype_of(a), dtype_of(b))
        assert promote(dtype_of(b), dtype_of(a)) is found
        assert promote(found, dtype_of(a)) is found


def test_conversions_between_categories() -> None:
    for attr, dtype in TORCH.items():
        found = TORCH[attr_of(as_float(dtype_of(attr)))]
        assert found is (dtype if dtype.is_floating_point or dtype.is_complex else torch.float32)
        assert TORCH[attr_of(real_of(dtype_of(attr)))] is (dtype.to_real() if dtype.is_complex else dtype)


def test_other_types_are_no_element_types() -> None:
    with pytest.raises(ValueError, match="not a tensor element type"):
        dtype_of(TensorType(f64, []))


NUMBERS: dict[Attribute, Any] = {i64: 2, f64: 2.0, i1: True}


def operands() -> list[tuple[SSAValue, Any]]:
    """Values of every element type with dimensions, without, and Python numbers, as the IR and as torch have them."""
    found: list[tuple[SSAValue, Any]] = []
    warnings.filterwarnings("ignore", message="ComplexHalf support is experimental")
    for attr, dtype in TORCH.items():
        for shape in ((2,), ()):
            value = xdsl_test.TestOp(result_types=[TensorType(attr, shape)]).results[0]
            found.append((value, torch.empty(shape, dtype=dtype, device="meta")))
    found.extend(
        (xdsl_test.TestOp(result_types=[type]).results[0], number) for type, number in NUMBERS.items()
    )
    return found


OPERATORS = (
    "add.Tensor", "sub.Tensor", "mul.Tensor", "div.Tensor", "maximum", "minimum", "fmod.Tensor", "remainder.Tensor",
    "pow.Tensor_Tensor", "atan2", "bitwise_and.Tensor", "bitwise_or.Tensor", "eq.Tensor", "lt.Tensor", "logical_and",
    "floor_divide", "xlogy.Tensor", "logaddexp", "copysign.Tensor", "float_power.Tensor_Tensor", "fmax",
    "true_divide.Tensor", "bitwise_left_shift.Tensor", "gcd", "hypot", "nextafter", "isclose", "rsub.Tensor",
    "heaviside",
)  # fmt: skip


@pytest.mark.parametrize("name", OPERATORS)
def test_binary_operators(name: str) -> None:
    cls = OP_BY_NAME[name]
    schema = cls.schema()
    target = getattr(getattr(torch.ops.aten, schema.name), schema.overload or "default")
    compared = 0
    for (x, left), (y, right) in itertools.product(operands(), operands()):
        if not isinstance(left, torch.Tensor):
            continue
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                expected = target(left, right)
        except (RuntimeError, TypeError, NotImplementedError):
            continue
        if name == "pow.Tensor_Tensor" and expected.dtype is torch.int64 and left.dtype is torch.bool:
            continue  # torch's kernels yield booleans here, if anything
        op = cls.make(x, y)
        (result,) = op.result_types
        assert isinstance(result, TensorType)
        assert TORCH[result.element_type] is expected.dtype, f"{name}({left.dtype}{left.shape}, {right})"
        assert result.get_shape() == tuple(expected.shape)
        compared += 1
    assert compared > 50


def test_selection() -> None:
    condition = xdsl_test.TestOp(result_types=[TensorType(i1, [3, 1])]).results[0]
    mask = torch.empty((3, 1), dtype=torch.bool, device="meta")
    for (x, left), (y, right) in itertools.product(operands(), operands()):
        if isinstance(left, torch.Tensor) and isinstance(right, torch.Tensor):
            expected = torch.where(mask, left, right)
            (result,) = OP_BY_NAME["where.self"].make(condition, x, y).result_types
            assert isinstance(result, TensorType)
            assert TORCH[result.element_type] is expected.dtype
            assert result.get_shape() == tuple(expected.shape)


@pytest.mark.parametrize("name", ["add", "mul", "div", "pow", "clamp", "where"])
def test_numbers_as_literals(name: str) -> None:
    for x, left in operands():
        if not isinstance(left, torch.Tensor):
            continue
        for number in (2, 0.5, True):
            match name:
                case "clamp":
                    op, call = OP_BY_NAME["clamp"], torch.ops.aten.clamp.default
                    arguments: tuple[Any, ...] = (number, None)
                case "pow":
                    op, call = OP_BY_NAME["pow.Tensor_Scalar"], torch.ops.aten.pow.Tensor_Scalar
                    arguments = (number,)
                case "where":
                    condition = xdsl_test.TestOp(result_types=[TensorType(i1, [2])]).results[0]
                    mask = torch.empty(2, dtype=torch.bool, device="meta")
                    (result,) = OP_BY_NAME["where.ScalarOther"].make(condition, x, number).result_types
                    assert isinstance(result, TensorType)
                    assert TORCH[result.element_type] is torch.where(mask, left, number).dtype
                    continue
                case _:
                    op, call = OP_BY_NAME[f"{name}.Scalar"], getattr(torch.ops.aten, name).Scalar
                    arguments = (number,)
            try:
                expected = call(left, *arguments)
            except (RuntimeError, NotImplementedError):
                continue
            if name == "pow" and number is True and left.dtype is torch.bool:
                continue  # torch's kernels yield booleans here, its shape functions integers
            (result,) = op.make(x, *arguments).result_types
            assert isinstance(result, TensorType)
            assert TORCH[result.element_type] is expected.dtype, f"{name}({left.dtype}{left.shape}, {number})"
