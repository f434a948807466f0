"""Guards on input sizes, beside the upper bounds of the schema.

`torch.export` records it: the smallest size of a dimension, dimensions that are equal, a size that a number divides.
The file has it as named data that other runtimes leave alone: JSON, by method the names of the inputs in order, and
conditions in the syntax of Python.

    {"forward": {"inputs": ["x", "mask"], "guards": ["2 <= x.shape[0] <= 64", "mask.shape[1] == x.shape[0]"]}}

A condition compares numbers: `x.shape[0]`, an input that is a number by its name, constants, sums, products, quotients
and remainders of them, and `min`, `max`, `abs`, `ceil`, `floor`, `trunc`, `round`, `sqrt`, `int` and `float`.
"""

from __future__ import annotations

import ast
import json
import math
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, TypeAlias, cast

__all__ = ["KEY", "Condition", "MethodGuards", "Size", "checked", "decode", "encode", "parse"]

KEY: Final = "et_ir.guards"
"""The named data that holds the guards of all methods."""

Size: TypeAlias = tuple[str, int | None]
"""A dimension of an input, or with `None` the number that an input is."""

_CHARACTERS: Final = re.compile(r"[\w .\[\]()<>=!+*/%,-]*")
_LONGEST: Final = 4000
_DEEPEST: Final = 100
_MOST: Final = 10_000
"""Maximum number of conditions of a method."""

_ARITHMETIC: Final[dict[type[ast.AST], Callable[..., Any]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: cast("Callable[..., Any]", operator.floordiv),
    ast.Div: cast("Callable[..., Any]", operator.truediv),
    ast.Mod: operator.mod,
    ast.USub: cast("Callable[..., Any]", operator.neg),
    ast.Not: operator.not_,
}
_COMPARISONS: Final[dict[type[ast.AST], Callable[[Any, Any], bool]]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
_FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {
    "min": min,
    "max": max,
    "abs": abs,
    "ceil": math.ceil,
    "floor": math.floor,
    "trunc": math.trunc,
    "round": round,
    "sqrt": math.sqrt,
    "int": int,
    "float": float,
}


class _Node(NamedTuple):
    """A number or a truth, computed from others; a leaf has no operands."""

    apply: Callable[..., Any]
    operands: tuple[_Node, ...]
    size: Size | None = None

    def value(self, sizes: Mapping[Size, int]) -> Any:
        if self.size is not None:
            return sizes[self.size]
        return self.apply(*(operand.value(sizes) for operand in self.operands))


@dataclass(frozen=True)
class Condition:
    """A condition on sizes of inputs."""

    text: str
    """As in the file."""
    sizes: tuple[Size, ...]
    """Sizes it refers to, in order of occurrence."""
    _root: _Node = field(repr=False, compare=False)

    def holds(self, sizes: Mapping[Size, int]) -> bool:
        """Whether it is true of sizes, which has those of `self.sizes`. What cannot be computed is not true."""
        try:
            return bool(self._root.value(sizes))
        except (ArithmeticError, ValueError):
            return False


class MethodGuards(NamedTuple):
    """Guards of a method on its inputs."""

    inputs: tuple[str, ...]
    conditions: tuple[Condition, ...]


def parse(text: str) -> Condition:
    """The condition of a text. Raises `ValueError` where it is none."""
    if len(text) > _LONGEST:
        raise ValueError(f"a condition of {len(text)} characters, at most {_LONGEST} are allowed")
    try:
        if not _CHARACTERS.fullmatch(text):
            raise ValueError
        body = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise ValueError(f"not a condition: {_short(text)}") from None
    sizes: dict[Size, None] = {}
    try:
        root = _read(body, sizes, 0)
    except ValueError as error:
        raise ValueError(f"not a condition: {_short(text)}: {error}") from None
    return Condition(text, tuple(sizes), root)


def _short(text: str) -> str:
    return repr(text if len(text) <= 60 else f"{text[:57]}...")


def _read(node: ast.expr, sizes: dict[Size, None], depth: int) -> _Node:
    if depth > _DEEPEST:
        raise ValueError("nested too deeply")

    def read(*inner: ast.expr) -> tuple[_Node, ...]:
        return tuple(_read(each, sizes, depth + 1) for each in inner)

    match node:
        case ast.Constant(value=int(number)) | ast.Constant(value=float(number)):
            return _Node(lambda: number, ())
        case ast.Name(id=name):
            return _leaf((name, None), sizes)
        case ast.Subscript(
            value=ast.Attribute(value=ast.Name(id=name), attr="shape"), slice=ast.Constant(value=int(dim))
        ) if not isinstance(dim, bool):
            return _leaf((name, dim), sizes)
        case ast.UnaryOp(op=op, operand=operand) if type(op) in _ARITHMETIC:
            return _Node(_ARITHMETIC[type(op)], read(operand))
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _ARITHMETIC:
            return _Node(_ARITHMETIC[type(op)], read(left, right))
        case ast.BoolOp(op=op, values=values):
            return _Node(_all if isinstance(op, ast.And) else _any, read(*values))
        case ast.Compare(left=left, ops=ops, comparators=others) if all(
            type(op) in _COMPARISONS for op in ops
        ):
            return _Node(_chain([_COMPARISONS[type(op)] for op in ops]), read(left, *others))
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]) if (
            name in _FUNCTIONS and arguments
        ):
            several = name in ("min", "max")
            if several == (len(arguments) > 1):
                return _Node(_FUNCTIONS[name], read(*arguments))
        case _:
            pass
    raise ValueError(f"{type(node).__name__} is not allowed here")


def _leaf(size: Size, sizes: dict[Size, None]) -> _Node:
    sizes[size] = None
    return _Node(len, (), size)


def _all(*given: Any) -> bool:
    return all(given)


def _any(*given: Any) -> bool:
    return any(given)


def _chain(functions: Sequence[Callable[[Any, Any], bool]]) -> Callable[..., bool]:
    def compare(*numbers: Any) -> bool:
        return all(function(a, b) for function, a, b in zip(functions, numbers, numbers[1:], strict=False))

    return compare


# -- the named data


def encode(methods: Mapping[str, MethodGuards]) -> bytes:
    """The named data for the guards of methods."""
    tables = {
        name: {"inputs": list(guards.inputs), "guards": [one.text for one in guards.conditions]}
        for name, guards in sorted(methods.items())
    }
    return json.dumps(tables, ensure_ascii=False, separators=(",", ":")).encode()


def decode(data: bytes | memoryview) -> dict[str, MethodGuards]:
    """The guards by method. Raises `ValueError` for what `encode` cannot have written."""
    try:
        tables: Any = json.loads(bytes(data).decode())
    except (ValueError, RecursionError) as error:
        raise ValueError(f"no JSON: {error}") from None
    if not isinstance(tables, dict):
        raise ValueError("expected an object with the guards of each method")
    return {name: _method(name, table) for name, table in cast("dict[str, Any]", tables).items()}


def _method(name: str, table: Any) -> MethodGuards:
    if not isinstance(table, dict) or table.keys() != {"inputs", "guards"}:  # pyright: ignore[reportUnknownMemberType]
        raise ValueError(f"method {name!r}: expected an object with 'inputs' and 'guards'")
    inputs, guards = cast("tuple[Any, Any]", (table["inputs"], table["guards"]))
    for texts in (inputs, guards):
        if not isinstance(texts, list) or not all(isinstance(one, str) for one in cast("list[Any]", texts)):
            raise ValueError(f"method {name!r}: expected lists of strings")
    if len(guards) > _MOST:
        raise ValueError(f"method {name!r}: {len(guards)} guards, at most {_MOST} are allowed")
    try:
        return checked(inputs, guards)
    except ValueError as error:
        raise ValueError(f"method {name!r}: {error}") from None


def checked(inputs: Sequence[str], texts: Sequence[str]) -> MethodGuards:
    """Guards of inputs by name. Raises `ValueError` for names that are none, and conditions on what is no input."""
    if len(set(inputs)) < len(inputs) or not all(name.isidentifier() for name in inputs):
        raise ValueError("input names must be distinct identifiers")
    known = set(inputs)
    conditions = tuple(map(parse, texts))
    for condition in conditions:
        for name, _ in condition.sizes:
            if name not in known:
                raise ValueError(f"{condition.text!r} refers to {name}, which is not an input")
    return MethodGuards(tuple(inputs), conditions)
