"""Arithmetic on numbers that are known at run time only."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple, cast

from xdsl.dialects.builtin import StringAttr, f64, i1, i64
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import IRDLOperation, irdl_op_definition, prop_def, result_def, traits_def, var_operand_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from et_ir.dialects.schema.sizes import ComputesSize
from et_ops.sizes import Expression

_Apply = Callable[..., int | float]

__all__ = ["FUNCTIONS", "ComputeOp", "Function", "compute_type", "primitive"]


class Function(NamedTuple):
    """A function of numbers: its arity, its result type and its implementation in Python."""

    arity: int
    result: Attribute | None
    """`None` for an f64 if an operand is one, else an i64."""
    apply: _Apply
    operands: tuple[Attribute, ...] = (i64, f64)
    """Accepted types of each operand."""
    prefix: str = ""
    """Namespace of the function in runtimes."""

    def takes(self, types: Sequence[Attribute]) -> bool:
        """Whether operands can be of these types."""
        return len(types) == self.arity and all(type in self.operands for type in types)


def _chosen(condition: bool, a: int | float, b: int | float) -> int | float:
    return a if condition else b


_ALL: Final = (i64, f64, i1)

FUNCTIONS: Final[dict[str, Function]] = {
    "add": Function(2, None, operator.add),
    "sub": Function(2, None, operator.sub),
    "mul": Function(2, None, operator.mul),
    "floordiv": Function(2, None, cast(_Apply, operator.floordiv)),
    "truediv": Function(2, f64, cast(_Apply, operator.truediv)),
    "neg": Function(1, None, cast(_Apply, operator.neg)),
    "max": Function(2, i64, max, (i64,), "sym_"),
    "min": Function(2, i64, min, (i64,), "sym_"),
    "float": Function(1, f64, float, _ALL, "sym_"),
    "int": Function(1, i64, int, _ALL, "sym_"),
    "ceil": Function(1, i64, math.ceil, (f64,)),
    "trunc": Function(1, i64, int, (f64,)),
    "round": Function(1, i64, round, (f64,)),
    "eq": Function(2, i1, operator.eq, _ALL),
    "lt": Function(2, i1, operator.lt),
    "le": Function(2, i1, operator.le),
    "gt": Function(2, i1, operator.gt),
    "ge": Function(2, i1, operator.ge),
    "not": Function(1, i1, operator.not_, (i1,), "sym_"),
    "ite": Function(3, None, _chosen, _ALL, "sym_"),
}
"""Those that both runtimes have as primitive operators. Their Python is that of numbers of any size."""


def primitive(function: str) -> str:
    """The operator of the runtimes that computes a function."""
    return f"executorch_prim::{FUNCTIONS[function].prefix}{function}.Scalar"


def compute_type(function: str, operands: Sequence[Attribute]) -> Attribute:
    """The type of what a function gives for operands of these types."""
    found = FUNCTIONS[function].result
    if found is not None:
        return found
    if function == "ite":
        return operands[-1]
    return f64 if f64 in operands else i64


class _OfSizes(ComputesSize):
    """The result is a size expression, where the function is one of those that sizes have."""

    def expression(self, op: Operation, operands: Sequence[Expression]) -> Expression | None:
        assert isinstance(op, ComputeOp)
        match op.function.data:
            case "max":
                return operands[0].maximum(*operands[1:])
            case "min":
                return operands[0].minimum(*operands[1:])
            case "add" | "sub" | "mul" | "floordiv" | "neg":
                return cast(Expression, op.evaluate(operands))
            case _:
                return None


@irdl_op_definition
class ComputeOp(IRDLOperation):
    """A number computed from others, of which some are known at run time only: sizes, and what tensors hold.

    The functions are `add`, `sub`, `mul`, `floordiv` (rounds down), `truediv`, `neg`, `max`, `min`, `float`, `int` and
    `trunc` (towards zero), `ceil`, `round` (ties to even), `eq`, `lt`, `le`, `gt`, `ge`, `not`, and `ite`: the second
    operand if the first is true, else the third, which is of the same type. Rules: `compute_c1` the function is one of
    these, `compute_c2` the operands and the result are numbers of its types.

    ```mlir
    %2 = program.compute "mul" %n, %two : (i64, i64) -> i64
    %3 = program.compute "lt" %n, %2 : (i64, i64) -> i1
    %4 = program.compute "ite" %3, %n, %2 : (i1, i64, i64) -> i64
    ```
    """

    name = "program.compute"
    function = prop_def(StringAttr)
    """The name of the function."""
    inputs = var_operand_def()
    """Its operands: i64, f64 or i1 as the function takes them."""
    result = result_def()
    """The number, of the type that the function gives."""
    traits = traits_def(Pure(), _OfSizes())
    assembly_format = "$function $inputs `:` functional-type($inputs, $result) attr-dict"

    def __init__(self, function: str, inputs: Sequence[SSAValue]):
        super().__init__(
            operands=[inputs],
            properties={"function": StringAttr(function)},
            result_types=[compute_type(function, [value.type for value in inputs])],
        )

    def evaluate(self, inputs: Sequence[Any]) -> int | float:
        """The number for Python numbers. Raises `ArithmeticError` where there is none, and `ValueError`."""
        return FUNCTIONS[self.function.data].apply(*inputs)

    def verify_(self) -> None:
        name = self.function.data
        function = FUNCTIONS.get(name)
        if function is None:
            raise VerifyException(f"[compute_c1] {name} is not a scalar function: {', '.join(FUNCTIONS)}")
        types = [value.type for value in self.inputs]
        if not function.takes(types):
            wanted = " or ".join(map(str, function.operands))
            raise VerifyException(f"[compute_c2] {name} takes {function.arity} of type {wanted}")
        if name == "ite" and (types[0] != i1 or types[1] != types[2]):
            raise VerifyException("[compute_c2] ite takes an i1 and two numbers of the same type")
        if name == "eq" and (types[0] == i1) != (types[1] == i1):
            raise VerifyException("[compute_c2] eq takes two numbers or two of type i1")
        expected = compute_type(name, types)
        if self.result.type != expected:
            raise VerifyException(f"[compute_c2] {name} of these gives {expected}, not {self.result.type}")
