"""Translation of `torch.export` size constraints into `et_schema.guards`.

An input of which no size varies is exact in a file. Of others all sizes have conditions, those that are numbers too.

A size is an expression of symbols: one that is a symbol, or the first from which it can be made out, stands for it;
all others have to be what they are for it. Symbols have ranges. What the trace asked of sizes beside that, such as that
they can be halved, export keeps as text in which `L['x'].size()[0]` is a dimension of an argument.
"""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial, reduce
from typing import Any, Final, cast

import sympy
import torch
from torch.fx import Node
from torch.utils._sympy import numbers
from torch.utils._sympy.functions import FloorDiv, IntTrueDiv, Max, Min, PythonMod, ToFloat
from torch.utils._sympy.printers import PythonPrinter
from torch.utils._sympy.value_ranges import ValueRanges

from et_ir.dialects.program import Guards
from et_ir.frontend.ranges import Ranges, ends, range_of
from et_ir.frontend.roundings import whole_number
from et_schema.guards import checked

__all__ = ["UnknownGuard", "input_guards"]

_LAYOUT: Final = re.compile(r"\.(stride|storage_offset)\(\)")
"""Inputs are copied, or viewed with the strides they have."""

_LARGEST_POWER: Final = 8
_CALLS: Final = {
    "Min": "min", "Max": "max", "math.floor": "floor", "math.ceil": "ceil", "math.trunc": "trunc", "ToFloat": "float",
    "torch.sym_float": "float", "torch.sym_max": "max", "torch.sym_min": "min", "torch._sym_sqrt": "sqrt",
    "min": "min", "max": "max", "abs": "abs", "int": "int", "float": "float", "round": "round", "TruncToInt": "trunc",
    "FloorToInt": "floor", "CeilToInt": "ceil", "RoundToInt": "round", "Abs": "abs",
}  # fmt: skip
"""Functions by what torch calls them."""
_OPERATORS: Final[dict[str, type[ast.operator]]] = {
    "FloorDiv": ast.FloorDiv,
    "CleanDiv": ast.FloorDiv,
    "Mod": ast.Mod,
    "PythonMod": ast.Mod,
    "IntTrueDiv": ast.Div,
    "FloatTrueDiv": ast.Div,
}
_FUNCTIONS: Final[dict[type[ast.AST], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.FloorDiv: FloorDiv, ast.Mod: PythonMod,
    ast.Div: IntTrueDiv,
    ast.Eq: sympy.Eq, ast.NotEq: sympy.Ne, ast.Lt: sympy.Lt, ast.LtE: sympy.Le, ast.Gt: sympy.Gt, ast.GtE: sympy.Ge,
}  # fmt: skip
"""Torch operators of conditions."""


class UnknownGuard(Exception):
    """A demand that cannot be put into these words."""


def input_guards(
    inputs: Sequence[tuple[str, Node]], ranges: Ranges, recorded: Sequence[str]
) -> Guards | None:
    """The guards of inputs, given by name with their placeholders; `None` if all sizes are known.

    `recorded` is what export keeps as text. Raises `UnknownGuard`.
    """
    sizes = list(_symbolic_sizes(inputs))
    if not sizes:
        return None
    conditions: dict[str, None] = {}
    definitions = _definitions(sizes, conditions)
    first: dict[Any, str] = {}
    same: dict[str, str] = {}
    for text, expression in sizes:
        least, most = ends(range_of(expression, ranges))
        printed = first.setdefault(expression, text)
        if printed == text:
            printed = _printed(expression, definitions)
        if printed is not None and text not in printed:
            conditions[f"{text} == {printed}"] = None
            if first[expression] == printed or expression.is_Symbol:
                same[text] = printed
        elif least or most is not None:
            conditions[_range(text, least, most)] = None
    known = _Known(dict(sizes), ranges)
    for condition in _translated(recorded, [name for name, _ in inputs], same):
        if not known.implies(condition):
            conditions[known.learn(condition) or ast.unparse(condition)] = None
    conditions |= dict.fromkeys(_exact_sizes(inputs))
    names = tuple(name for name, _ in inputs)
    try:
        checked(names, list(conditions))
    except ValueError as error:
        raise UnknownGuard(str(error)) from None
    return Guards(names, tuple(conditions))


# -- sizes


def _symbolic_sizes(inputs: Sequence[tuple[str, Node]]) -> Iterator[tuple[str, Any]]:
    """The sizes of inputs that are not known, and inputs that are such numbers, with their expressions."""
    for name, node in inputs:
        example: object = node.meta.get("val")
        if isinstance(example, torch.Tensor):
            for dim, size in enumerate(cast("tuple[Any, ...]", tuple(example.shape))):
                if type(size) is not int:
                    yield f"{name}.shape[{dim}]", size.node.expr
        elif isinstance(example, torch.SymInt):
            yield name, cast(Any, example).node.expr


def _exact_sizes(inputs: Sequence[tuple[str, Node]]) -> Iterator[str]:
    """Conditions that the other sizes of inputs are what they are, where a file has only bounds of all sizes."""
    for name, node in inputs:
        example: object = node.meta.get("val")
        sizes = cast("tuple[Any, ...]", tuple(example.shape)) if isinstance(example, torch.Tensor) else ()
        if not all(type(size) is int for size in sizes):
            yield from (
                f"{name}.shape[{dim}] == {size}" for dim, size in enumerate(sizes) if type(size) is int
            )


def _definitions(sizes: Sequence[tuple[str, Any]], conditions: dict[str, None]) -> dict[Any, str]:
    """The term of each symbol in guards; adds the conditions under which it is a number."""
    found: dict[Any, str] = {}
    for text, expression in sizes:
        if expression.is_Symbol:
            found.setdefault(expression, text)
    for text, expression in sizes:
        symbols = list(expression.free_symbols)
        if len(symbols) != 1 or symbols[0] in found:
            continue
        (symbol,) = symbols
        factor = expression.coeff(symbol)
        offset = cast(Any, sympy).expand(expression - factor * symbol)
        if factor.is_Integer and factor != 0 and offset.is_Integer:
            numerator = text if offset == 0 else f"({text} - {offset})"
            found[symbol] = f"({numerator} // {factor})"
            if abs(factor) != 1:
                conditions[f"{numerator} % {factor} == 0"] = None
    return found


def _printed(expression: Any, definitions: Mapping[Any, str]) -> str | None:
    """An expression in the words of guards; `None` if that says nothing about it."""
    if not expression.free_symbols <= definitions.keys():
        return None
    if expression.is_Symbol:
        return definitions[expression]
    words = {symbol: sympy.Symbol(definitions[symbol], integer=True) for symbol in expression.free_symbols}
    text = str(cast(Any, PythonPrinter()).doprint(expression.xreplace(words)))
    return ast.unparse(ast.parse(text, mode="eval"))


def _range(text: str, least: int | None, most: int | None) -> str:
    above = f"{least} <= " if least else ""
    return f"{above}{text}" + (f" <= {most}" if most is not None else "")


# -- what is recorded as text


def _translated(recorded: Sequence[str], names: Sequence[str], same: Mapping[str, str]) -> Iterator[ast.expr]:
    """Recorded guards in the words of guards."""
    for guard in recorded:
        if not _LAYOUT.search(guard):
            try:
                yield _Translation(names, same).visit(ast.parse(guard.strip(), mode="eval")).body
            except (SyntaxError, KeyError, TypeError, ValueError) as error:
                raise UnknownGuard(f"{guard}: {error}") from None


class _Translation(ast.NodeTransformer):
    """From the words of torch to those of guards."""

    def __init__(self, names: Sequence[str], same: Mapping[str, str]):
        self.names = names
        self.same = same

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        match node.value:
            case ast.Call(func=ast.Attribute(value=source, attr="size"), args=[]):
                text = f"{self._input(source)}.shape[{ast.unparse(node.slice)}]"
                return ast.parse(self.same.get(text, text), mode="eval").body
            case _:
                return ast.Name(self._input(node))

    def visit_Call(self, node: ast.Call) -> ast.expr:
        name = ast.unparse(node.func)
        arguments = [cast(ast.expr, self.visit(argument)) for argument in node.args]
        if name in _OPERATORS:
            left, right = arguments
            return ast.BinOp(left, _OPERATORS[name](), right)
        return ast.Call(ast.Name(_CALLS[name]), arguments, [])

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        left, right = cast(ast.expr, self.visit(node.left)), cast(ast.expr, self.visit(node.right))
        match node.op, right:
            case ast.Pow(), ast.Constant(value=int(power)) if 1 <= power <= _LARGEST_POWER:
                return reduce(lambda product, _: ast.BinOp(product, ast.Mult(), left), range(power - 1), left)
            case _:
                return ast.BinOp(left, node.op, right)

    def _input(self, source: ast.expr) -> str:
        """The name of the input for an argument, `L['x']`, or what is in it, `L['x']['mask'][0]`."""
        steps: list[Any] = []
        while isinstance(source, ast.Subscript):
            steps.append(ast.literal_eval(source.slice))
            source = source.value
        steps.reverse()
        if steps and steps[0] == "flat_args":
            return str(self.names[steps[1]])
        name = re.sub(r"[^a-zA-Z0-9]+", "_", "_".join(str(step).lower() for step in steps))
        if name not in self.names:
            raise KeyError(f"no input named {name}")
        return name


# -- what follows from what


class _Known:
    """Conditions from the ranges of sizes and from known divisors."""

    def __init__(self, sizes: Mapping[str, Any], ranges: Ranges):
        self._sizes = dict(sizes)
        self._ranges = dict(ranges)

    def implies(self, condition: ast.expr) -> bool:
        """Whether a condition holds for all sizes."""
        found = self._expression(condition)
        if found is None:
            return False
        range = range_of(found, self._ranges)
        return bool(range.lower == sympy.true)

    def learn(self, condition: ast.expr) -> str | None:
        """Take note of a condition; returns it in the fewest words if it is that a size is a multiple of a number."""
        match condition:
            case ast.Compare(
                left=ast.BinOp(left=left, op=ast.Mod(), right=ast.Constant(value=int(divisor))),
                ops=[ast.Eq()],
                comparators=[ast.Constant(value=0)],
            ):
                number = self._expression(left)
            case _:
                return None
        if number is None:
            return None
        factor, symbol = number.as_coeff_Mul()
        if not symbol.is_Symbol or not factor.is_Integer:
            return None
        text = next((text for text, size in self._sizes.items() if size == symbol), None)
        divisor //= math.gcd(divisor, int(factor))
        least, most = ends(self._ranges.get(symbol))
        part = cast(Any, sympy).Symbol(f"{symbol}_{divisor}", integer=True, positive=bool(least))
        upper: Any = cast(Any, numbers).int_oo if most is None else most // divisor
        self._ranges[part] = ValueRanges(-(-(least or 0) // divisor), upper)
        self._sizes = {text: size.xreplace({symbol: divisor * part}) for text, size in self._sizes.items()}
        return None if text is None else f"{text} % {divisor} == 0"

    def _expression(self, node: ast.expr) -> Any:
        """A condition or number of the words of guards, of the symbols of export; `None` if it is none."""
        match node:
            case ast.Constant(value=int(number)):
                return sympy.Integer(number)
            case ast.Constant(value=float(number)):
                return sympy.Float(number)
            case ast.Subscript() | ast.Name():
                return self._sizes.get(ast.unparse(node))
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                operands, function = [operand], operator.neg
            case ast.Call(func=ast.Name(id="max" | "min" as name), args=operands):
                function = Max if name == "max" else Min
            case ast.Call(func=ast.Name(id="ceil" | "floor" | "trunc" | "round" as name), args=operands):
                function = partial(whole_number, name)
            case ast.Call(func=ast.Name(id="float"), args=operands):
                function = ToFloat
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _FUNCTIONS:
                operands, function = [left, right], _FUNCTIONS[type(op)]
            case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _FUNCTIONS:
                operands, function = [left, right], _FUNCTIONS[type(op)]
            case _:
                return None
        numbers = [self._expression(operand) for operand in operands]
        return None if None in numbers else cast(Any, function)(*numbers)
