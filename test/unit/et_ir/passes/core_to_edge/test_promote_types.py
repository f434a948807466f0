"""Promotion made explicit computes what torch computes with mixed operands, for every operator that mixes them."""

import itertools
from typing import Any

import pytest
import torch
from support.aten_interpreter import Interpreter
from support.modules import call, run

from et_ir.dialects.aten import OP_BY_NAME
from et_ir.dialects.edge import OP_BY_NAME as EDGE_OPS
from et_ir.dialects.edge.dtypes import rows
from et_ir.dialects.edge.promotion import operands_of
from et_ir.dialects.schema import SchemaOp
from et_ir.dialects.schema.tensors import tensor_type
from et_ops.facts import DECLARED

PROMOTIONS = {name: facts.promotion for name, facts in DECLARED.items() if facts.promotion is not None}

DTYPES = [torch.bool, torch.uint8, torch.int32, torch.int64, torch.float16, torch.float32, torch.float64]
SHAPES = [((3,), (3,)), ((3,), ()), ((), (3,)), ((), ())]

BINARY = sorted(
    name
    for name, promotion in PROMOTIONS.items()
    if promotion.args == ("self", "other") and not promotion.to_first and name != "where.self"
)


def tensor(dtype: torch.dtype, shape: tuple[int, ...], seed: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    values = torch.randint(1, 5, shape, generator=generator)
    return values.to(dtype) if dtype != torch.bool else values > 2


def operator(name: str) -> Any:
    packet, _, overload = name.partition(".")
    return getattr(getattr(torch.ops.aten, packet), overload or "default")


def check(name: str, args: list[Any], **literals: Any) -> None:
    try:
        expected = operator(name)(*args, **literals)
    except (RuntimeError, NotImplementedError):
        return  # torch takes no such operands either
    module, inputs = call(name, args, expected, **literals)
    run(module, "promote-types")
    for op in module.walk():
        if isinstance(op, SchemaOp) and op.name == f"aten.{name}":
            promoted = operands_of(op, *PROMOTIONS[name].args)
            assert len({tensor_type(value).element_type for _, value in promoted}) == 1, str(module)
    (found,) = Interpreter(module).run(*inputs)
    assert found.dtype == expected.dtype
    tolerance = {"rtol": 1e-3, "atol": 1e-3} if expected.dtype == torch.float16 else {}
    torch.testing.assert_close(found, expected, equal_nan=True, **tolerance)


def check_binary(name: str, a: torch.dtype, b: torch.dtype, shapes: tuple[tuple[int, ...], ...]) -> None:
    literals = {"rounding_mode": "floor"} if name.endswith("Tensor_mode") else {}
    check(name, [tensor(a, shapes[0], 1), tensor(b, shapes[1], 2)], **literals)


@pytest.mark.parametrize(("place", "name"), list(enumerate(BINARY)), ids=BINARY)
def test_binary(place: int, name: str) -> None:
    """All pairs of types, each with one pair of shapes, which differs from operator to operator."""
    for at, (a, b) in enumerate(itertools.permutations(DTYPES, 2), place):
        check_binary(name, a, b, SHAPES[at % len(SHAPES)])


@pytest.mark.sweep
@pytest.mark.parametrize("name", BINARY)
def test_binary_of_all_shapes(name: str) -> None:
    for (a, b), shapes in itertools.product(itertools.permutations(DTYPES, 2), SHAPES):
        check_binary(name, a, b, shapes)


@pytest.mark.parametrize("shapes", SHAPES)
def test_where(shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    for a, b in itertools.permutations(DTYPES, 2):
        condition = torch.tensor([True, False, True])
        check("where.self", [condition, tensor(a, shapes[0], 1), tensor(b, shapes[1], 2)])


def test_lists_and_triples() -> None:
    for a, b, c in itertools.permutations([torch.bool, torch.int32, torch.float16, torch.float32], 3):
        x, y, z = tensor(a, (3,), 1), tensor(b, (3,), 2), tensor(c, (3,), 3)
        check("cat", [[x, y, z]])
        check("stack", [[x, y, z]])
        check("clamp.Tensor", [x, y, z])
        check("addcmul", [x, y, z])
        check("pow.Tensor_Tensor", [x, y])


@pytest.mark.parametrize("dtype", [torch.int32, torch.float16])
def test_assignments_convert_to_the_first(dtype: torch.dtype) -> None:
    base = tensor(dtype, (4,), 1)
    check("slice_scatter", [base, torch.tensor([1.5, 2.5]), 0, 1, 3, 1])
    check("select_scatter", [base, torch.tensor(1.5), 0, 2])
    check("copy", [base, torch.tensor([1.5, 2.5, 3.5, 4.5])])


def test_one_type_is_left_alone() -> None:
    x, y = tensor(torch.int32, (3,), 1), tensor(torch.int32, (3,), 2)
    module, _ = call("div.Tensor", [x, y], x / y)
    before = str(module)
    assert str(run(module, "promote-types")) == before


def test_every_pointwise_operator_of_several_tensors_is_classified() -> None:
    """It promotes, or torch takes one type for all its operands, or different ones that mean different things."""
    means_different_things = {
        "ldexp.Tensor", "masked_fill.Scalar", "polygamma", "prelu", *(name for name in EDGE_OPS if "polynomial" in name)
    }  # fmt: skip
    mixing = {
        name
        for name, cls in EDGE_OPS.items()
        if cls.operator.is_pointwise and any(len(row.columns) > 1 for row in rows(name))
    }
    assert mixing - PROMOTIONS.keys() <= means_different_things
    assert not means_different_things & PROMOTIONS.keys()
    assert PROMOTIONS.keys() <= OP_BY_NAME.keys()
    for name, promotion in PROMOTIONS.items():
        arguments = OP_BY_NAME[name].schema().by_name
        assert all(arguments[arg].type.is_tensor for arg in promotion.args), name
