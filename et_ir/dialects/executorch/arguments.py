"""Arguments of calls: literals and registers, mixed, as attributes and operands, in Python, and in text.

An op keeps its arguments as one attribute per argument, with `#executorch.operand` where a register stands,
and the registers as operands in the same order. In Python an argument is a number, a string, `None`, an SSA
value, or a `ListValue`. In text it is written as in a Python call:

    (%x, 1, 1.0, true, "s", none, [1, %n], [0.5], [%a, %b], [%a, none])

The items of a list say what kind it is; where they do not (an empty list, optional tensors that are all
there), the kind stands before it: `ints []`, `optional [%a]`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, TypeAlias, cast

from xdsl.dialects.builtin import (
    AnyFloat,
    ArrayAttr,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    NoneType,
    StringAttr,
    TensorType,
    f64,
    i1,
    i64,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from et_ir.dialects.executorch.attributes import OPERAND, ListAttr, ListKind, OperandAttr
from et_ir.dialects.program import StringType
from et_ir.dialects.schema.syntax import format_float

__all__ = [
    "Argument",
    "ListValue",
    "Scalar",
    "decode",
    "encode",
    "literal_attribute",
    "literal_type",
    "literal_value",
    "operand_count",
    "parse_arguments",
    "parse_literal",
    "parse_optional_arguments",
    "parse_register",
    "print_arguments",
    "print_literal",
    "text_attribute",
    "verify_arguments",
]

Scalar: TypeAlias = int | float | bool | str | None
Item: TypeAlias = "Scalar | SSAValue"

NONE: Final = NoneType()
_KINDS: Final = {kind.value: kind for kind in ListKind}


@dataclass(frozen=True, slots=True)
class ListValue:
    """A list argument: `items` are numbers or registers, `None` for a tensor that is absent."""

    kind: ListKind
    items: tuple[Item, ...]


Argument: TypeAlias = Scalar | SSAValue | ListValue

# -- attributes


@lru_cache(maxsize=4096)
def _int(value: int) -> Attribute:
    return IntegerAttr(value, i64)


@lru_cache(maxsize=4096)
def _ints(values: tuple[int, ...]) -> Attribute:
    return ListAttr.of(ListKind.INTS, [_int(value) for value in values])


@lru_cache(maxsize=4096)
def text_attribute(value: str) -> StringAttr:
    """The attribute of a string that many operations share, such as an operator's name."""
    return StringAttr(value)


_TRUE: Final = IntegerAttr(1, i1)
_FALSE: Final = IntegerAttr(0, i1)


def literal_attribute(value: Scalar) -> Attribute:
    """The attribute of a number, string or `None`."""
    if value is True or value is False:
        return _TRUE if value else _FALSE
    if isinstance(value, int):
        return _int(value)
    if isinstance(value, float):
        return FloatAttr(value, f64)
    if isinstance(value, str):
        return StringAttr(value)
    return NONE


def literal_value(attr: Attribute) -> Scalar:
    """The value of an attribute made by `literal_attribute`. Raises `VerifyException` for any other."""
    if isinstance(attr, IntegerAttr):
        integer = cast("IntegerAttr[IntegerType]", attr)
        if integer.type == i64:
            return integer.value.data
        if integer.type == i1:
            return bool(integer.value.data)
    elif isinstance(attr, FloatAttr):
        number = cast("FloatAttr[AnyFloat]", attr)
        if number.type == f64:
            return number.value.data
    elif isinstance(attr, StringAttr):
        return attr.data
    elif isinstance(attr, NoneType):
        return None
    raise VerifyException(f"{attr} is not a literal: expected an i64, f64, i1, string or none")


def literal_type(attr: Attribute) -> Attribute:
    """The type of a register that holds a literal."""
    value = literal_value(attr)
    if value is None:
        return NONE
    if isinstance(value, str):
        return StringType()
    return i1 if isinstance(value, bool) else i64 if isinstance(value, int) else f64


def _encode_item(item: Item, operands: list[SSAValue]) -> Attribute:
    if isinstance(item, SSAValue):
        operands.append(item)
        return OPERAND
    return literal_attribute(item)


def encode(arguments: Sequence[Argument]) -> tuple[ArrayAttr[Attribute], list[SSAValue]]:
    """Arguments as an attribute and the operands that it refers to."""
    operands: list[SSAValue] = []
    attrs: list[Attribute] = []
    for argument in arguments:
        if not isinstance(argument, ListValue):
            attrs.append(_encode_item(argument, operands))
        elif argument.kind is ListKind.INTS and all(type(item) is int for item in argument.items):
            attrs.append(_ints(cast("tuple[int, ...]", argument.items)))
        else:
            attrs.append(
                ListAttr.of(argument.kind, [_encode_item(item, operands) for item in argument.items])
            )
    return ArrayAttr(attrs), operands


def decode(attribute: ArrayAttr[Attribute], operands: Sequence[SSAValue]) -> list[Argument]:
    """The arguments that `encode` was given. Raises `VerifyException` if the two do not fit."""
    rest = iter(operands)

    def item(attr: Attribute) -> Item:
        if type(attr) is not OperandAttr:
            return literal_value(attr)
        found = next(rest, None)
        if found is None:
            raise VerifyException(f"more arguments than the {len(operands)} operands")
        return found

    arguments = [
        ListValue(attr.list_kind, tuple([item(a) for a in attr.items.data]))
        if type(attr) is ListAttr
        else item(attr)
        for attr in attribute.data
    ]
    if next(rest, None) is not None:
        raise VerifyException(f"fewer arguments than the {len(operands)} operands")
    return arguments


def operand_count(attribute: Attribute) -> int:
    """Number of operands that arguments refer to."""
    count = 0
    for attr in cast("ArrayAttr[Attribute]", attribute).data:
        if type(attr) is OperandAttr:
            count += 1
        elif type(attr) is ListAttr:
            count += sum([type(item) is OperandAttr for item in attr.items.data])
    return count


def verify_arguments(attribute: ArrayAttr[Attribute], operands: Sequence[SSAValue]) -> None:
    """Check that arguments are well formed. Raises `VerifyException` with label `argument_c1`."""
    try:
        arguments = decode(attribute, operands)
    except VerifyException as error:
        raise VerifyException(f"[argument_c1] {error}") from None
    for argument in arguments:
        if isinstance(argument, ListValue):
            for item in argument.items:
                if not _fits(item, argument.kind):
                    what = item.type if isinstance(item, SSAValue) else repr(item)
                    raise VerifyException(f"[argument_c1] a list of {argument.kind} cannot hold {what}")


def _fits(item: Item, kind: ListKind) -> bool:
    match kind:
        case ListKind.INTS:
            if isinstance(item, SSAValue):
                return item.type == i64
            return isinstance(item, int) and not isinstance(item, bool)
        case ListKind.FLOATS:
            return isinstance(item, float)
        case ListKind.BOOLS:
            return isinstance(item, bool)
        case ListKind.TENSORS:
            return isinstance(item, SSAValue) and isinstance(item.type, TensorType)
        case ListKind.OPTIONAL_TENSORS:
            return item is None or (isinstance(item, SSAValue) and isinstance(item.type, TensorType))


# -- text


def _natural_kind(items: Sequence[Item]) -> ListKind | None:
    """The kind that a list without a keyword has."""
    kind: ListKind | None = None
    for item in items:
        if item is None:
            return ListKind.OPTIONAL_TENSORS
        if isinstance(item, SSAValue):
            kind = ListKind.TENSORS if isinstance(item.type, TensorType) else ListKind.INTS
        elif isinstance(item, bool):
            return ListKind.BOOLS
        elif isinstance(item, float):
            return ListKind.FLOATS
        elif isinstance(item, int):
            return ListKind.INTS
    return kind


def print_literal(printer: Printer, value: Scalar) -> None:
    """Print a number, string or `none` without its type."""
    if value is None:
        printer.print_string("none")
    elif value is True or value is False:
        printer.print_string("true" if value else "false")
    elif isinstance(value, float):
        printer.print_string(format_float(value))
    elif isinstance(value, int):
        printer.print_string(str(value))
    else:
        printer.print_string_literal(value)


def _print_item(printer: Printer, item: Item) -> None:
    if isinstance(item, SSAValue):
        printer.print_ssa_value(item)
    else:
        print_literal(printer, item)


def _print_argument(printer: Printer, argument: Argument) -> None:
    if not isinstance(argument, ListValue):
        _print_item(printer, argument)
        return
    if _natural_kind(argument.items) is not argument.kind:
        printer.print_string(f"{argument.kind} ")
    printer.print_string("[")
    printer.print_list(argument.items, lambda item: _print_item(printer, item))
    printer.print_string("]")


def print_arguments(printer: Printer, arguments: Sequence[Argument]) -> None:
    """Print arguments, separated by commas, without parentheses."""
    printer.print_list(arguments, lambda argument: _print_argument(printer, argument))


def parse_register(parser: Parser) -> SSAValue:
    """Parse the name of a register, which has been declared before."""
    return _resolve(parser, parser.parse_unresolved_operand("expected a register"))


def _resolve(parser: Parser, operand: UnresolvedOperand) -> SSAValue:
    # Registers are declared before use, so their type needs not be repeated where they are used.
    found = parser.ssa_values.get(operand.operand_name)
    if found is None or operand.index >= len(found):
        parser.raise_error("this register is not declared before its use", operand.span)
    return found[operand.index]


def parse_literal(parser: Parser) -> Scalar:
    """Parse a number, string or `none`."""
    if parser.parse_optional_keyword("none"):
        return None
    text = parser.parse_optional_str_literal()
    if text is not None:
        return text
    if parser.parse_optional_keyword("true"):
        return True
    if parser.parse_optional_keyword("false"):
        return False
    if parser.parse_optional_keyword("inf"):
        return float("inf")
    if parser.parse_optional_keyword("nan"):
        return float("nan")
    if parser.parse_optional_punctuation("-") is not None:
        return float("-inf") if parser.parse_optional_keyword("inf") else -parser.parse_number()
    number = parser.parse_optional_number()
    if number is None:
        parser.raise_error("expected a register, number, boolean, string, list or 'none'")
    return number


def _parse_item(parser: Parser) -> Item:
    operand = parser.parse_optional_unresolved_operand()
    return parse_literal(parser) if operand is None else _resolve(parser, operand)


def _parse_argument(parser: Parser) -> Argument:
    keyword = parser.parse_optional_keyword_in(_KINDS)
    position = parser.pos
    items = parser.parse_optional_comma_separated_list(parser.Delimiter.SQUARE, lambda: _parse_item(parser))
    if items is None:
        if keyword is not None:
            parser.raise_error(f"expected a list after '{keyword}'")
        return _parse_item(parser)
    kind = _natural_kind(items) if keyword is None else _KINDS[keyword]
    if kind is None:
        parser.raise_error("an empty list needs a kind, such as 'ints []'", position, parser.pos)
    if kind is ListKind.FLOATS:
        items = [float(item) if type(item) is int else item for item in items]
    for item in items:
        if not _fits(item, kind):
            parser.raise_error(f"not all items of this list are {kind}", position, parser.pos)
    return ListValue(kind, tuple(items))


def parse_arguments(parser: Parser) -> list[Argument]:
    """Parse arguments in parentheses."""
    return parser.parse_comma_separated_list(parser.Delimiter.PAREN, lambda: _parse_argument(parser))


def parse_optional_arguments(parser: Parser) -> list[Argument]:
    """Parse arguments without parentheses, up to the end of a block."""
    if parser._current_token.text in ("}", "loc", "attributes"):  # pyright: ignore[reportPrivateUsage]
        return []
    return parser.parse_comma_separated_list(parser.Delimiter.NONE, lambda: _parse_argument(parser))
