"""Numbers in tensor slots promote and compute as torch's wrapped numbers do."""

import itertools
from typing import Any

import pytest
import torch
from support.aten_interpreter import Interpreter
from support.modules import call, run
from xdsl.dialects.builtin import StringAttr

from et_ir.dialects.program import ConstantOp
from et_ir.dialects.schema import SchemaOp
from et_ir.dialects.schema.tensors import is_tensor

FUNCTIONS: dict[str, Any] = {
    "add.Tensor": torch.add,
    "sub.Tensor": torch.sub,
    "mul.Tensor": torch.mul,
    "div.Tensor": torch.div,
    "pow.Tensor_Tensor": torch.pow,
    "remainder.Tensor": torch.remainder,
    "fmod.Tensor": torch.fmod,
    "eq.Tensor": torch.eq,
    "ne.Tensor": torch.ne,
    "lt.Tensor": torch.lt,
    "le.Tensor": torch.le,
    "gt.Tensor": torch.gt,
    "ge.Tensor": torch.ge,
    "bitwise_and.Tensor": torch.bitwise_and,
    "bitwise_or.Tensor": torch.bitwise_or,
    "bitwise_xor.Tensor": torch.bitwise_xor,
}
TENSORS = [
    torch.tensor([1, 2, 3], dtype=dtype)
    for dtype in (torch.uint8, torch.int32, torch.int64, torch.float16, torch.float32, torch.float64)
] + [torch.tensor(3), torch.tensor(2.5), torch.tensor([True, False])]


def check(name: str, args: list[Any], expected: torch.Tensor, **literals: Any) -> None:
    module, inputs = call(name, args, expected, **literals)
    run(module, "scalars-to-tensors,dce")
    for op in module.walk():
        if isinstance(op, SchemaOp):
            assert all(is_tensor(v.type) for v in op.operands[: len(op.operands) - len(op.symbols)])
    (found,) = Interpreter(module).run(*inputs)
    torch.testing.assert_close(found, expected, equal_nan=True)


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("number", [2, 2.5, True, -1, 0])
def test_either_operand(name: str, number: float) -> None:
    for tensor, first in itertools.product(TENSORS, (False, True)):
        args = [number, tensor] if first else [tensor, number]
        try:
            expected = FUNCTIONS[name](*args)
        except (RuntimeError, TypeError):
            continue  # torch takes no such operands either
        check(name, args, expected)


def test_alpha_of_a_swapped_operand() -> None:
    x = torch.tensor([1.0, 2.0])
    check("sub.Tensor", [5, x], 5 - 3 * x, alpha=3)
    check("add.Tensor", [5, x], 5 + 3 * x, alpha=3)


def test_operators_without_an_overload_for_numbers() -> None:
    x, c = torch.tensor([1.0, 3.0]), torch.tensor([True, False])
    check("where.self", [c, 1.5, x], torch.where(c, 1.5, x))
    check("where.self", [c, 1, 2.5], torch.where(c, 1, 2.5))
    check("maximum", [x, 2], torch.maximum(x, torch.tensor(2.0)))
    check("floor_divide", [torch.tensor([7, 8]), 2], torch.tensor([3, 4]))
    check("clamp.Tensor", [x, 2, None], x.clamp(min=2))
    check("clamp.Tensor", [x, 2, torch.tensor([2.5, 2.5])], x.clamp(2, 2.5))


def test_large_numbers_keep_their_value() -> None:
    x = torch.tensor([2**53, 0])
    check("maximum", [x, 2**53 + 1], torch.tensor([2**53 + 1, 2**53 + 1]))


def test_equal_numbers_share_a_constant() -> None:
    x = torch.tensor([1.0, 3.0])
    module, _ = call("maximum", [x, 2.5], x)
    method = module.body.block.last_op
    assert method is not None
    again = method.clone()
    again.properties["sym_name"] = StringAttr("again")
    module.body.block.add_op(again)
    run(module, "scalars-to-tensors")
    assert sum(isinstance(op, ConstantOp) for op in module.walk()) == 1


def test_target_decides_on_overloads() -> None:
    x = torch.tensor([1.0, 3.0])
    module, _ = call("mul.Tensor", [x, 2], 2 * x)
    run(module, "scalars-to-tensors{target=et-vm}".replace("et-vm", '"et-vm"'))
    assert any(op.name == "aten.mul.Scalar" for op in module.walk())
