"""One custom syntax for every op that has a schema.

    %3 = aten.addmm %b, %x, %w {beta = 2} : (tensor<4xf32>, tensor<2x3xf32>, tensor<3x4xf32>)
             -> tensor<2x4xf32>
    %4 = aten.relu %3 : tensor<2x4xf32>
    %5 = aten.cat [%3, %4] {dim = 1} : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x8xf32>
    %6 = aten.view %5 {size = [%s0, 16]} : (tensor<2x8xf32>, i64) -> tensor<?x16xf32>

Tensor arguments come in the schema's order: a value, `none` for one that is absent, a bracketed list. Absent
ones at the end are left out. Literals stand in braces by name, those equal to the schema's default left out;
a literal known at run time is the SSA value. The types are those of all operands in order, then of the
results; where all are the same, that type stands once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Attribute, SSAValue
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from et_ir.dialects.schema.literals import (
    BOOL_LIST,
    DYNAMIC,
    DYNAMIC_ATTR,
    SEGMENTS,
    Value,
    attribute_of,
    element_type_name,
    literal_of,
    present,
    segment_sizes,
)
from et_ops import Arg

if TYPE_CHECKING:
    from et_ir.dialects.schema.op import SchemaOp

__all__ = ["format_float", "parse_op", "print_op"]

# -- printing


def format_float(value: float) -> str:
    """The shortest text that reads back as the same float64: decimal with a point or exponent, or `inf`,
    `nan`.
    """
    text = repr(value)
    if text in ("inf", "-inf", "nan") or "." in text:
        return text
    mantissa, e, exponent = text.partition("e")
    return f"{mantissa}.0{e}{exponent}"


def _format_scalar(value: Value) -> str:
    if value is True or value is False:
        return "true" if value else "false"
    if isinstance(value, float):
        return format_float(value)
    if isinstance(value, int):
        return str(value)
    if isinstance(value, str):
        return str(StringAttr(value))
    return element_type_name(cast(Attribute, value))


def print_op(op: SchemaOp, printer: Printer) -> None:
    """Print the op after its name; falls back on the generic form where the op is malformed."""
    info = op.info()

    tensors = op.tensor_operands()
    while tensors and tensors[-1] is None:
        tensors.pop()
    for index, value in enumerate(tensors):
        printer.print_string(", " if index else " ")
        if isinstance(value, tuple):
            printer.print_string("[")
            printer.print_list(value, lambda item: _print_operand(printer, item))
            printer.print_string("]")
        else:
            _print_operand(printer, value)
    symbols = iter(op.symbols)
    shown = 0
    for arg in info.literals:
        attr = op.properties.get(arg.name)
        if attr is None or attr == info.defaults.get(arg.name):
            continue
        printer.print_string(", " if shown else " {")
        shown += 1
        printer.print_string(arg.name + " = ")
        _print_literal(printer, literal_of(attr), symbols)
    if shown:
        printer.print_string("}")
    if op.attributes:
        printer.print_op_attributes(op.attributes, print_keyword=True)
    printer.print_string(" : ")
    _print_types(op, printer)


def _print_operand(printer: Printer, value: SSAValue | None) -> None:
    if value is None:
        printer.print_string("none")
    else:
        printer.print_ssa_value(value)


def _print_literal(printer: Printer, value: Value, symbols: Any) -> None:
    if isinstance(value, tuple):
        printer.print_string("[")
        printer.print_list(value, lambda item: _print_literal(printer, item, symbols))
        printer.print_string("]")
    elif type(value) is int and value == DYNAMIC:
        printer.print_ssa_value(next(symbols))
    else:
        printer.print_string(_format_scalar(value))


def _print_types(op: SchemaOp, printer: Printer) -> None:
    operand_types = [value.type for value in op.operands]
    result_types = [value.type for value in op.results]
    if operand_types and len(result_types) == 1 and all(t == result_types[0] for t in operand_types):
        printer.print_attribute(result_types[0])
        return
    printer.print_string("(")
    printer.print_list(operand_types, printer.print_attribute)
    printer.print_string(") -> ")
    if len(result_types) == 1:
        printer.print_attribute(result_types[0])
    else:
        printer.print_string("(")
        printer.print_list(result_types, printer.print_attribute)
        printer.print_string(")")


# -- parsing


def _parse_operand(parser: Parser) -> UnresolvedOperand | None:
    if parser.parse_optional_keyword("none"):
        return None
    return parser.parse_unresolved_operand("expected an SSA value or 'none'")


def _parse_string(parser: Parser) -> str | None:
    text = parser.parse_optional_str_literal()
    if text is not None:
        return text
    # xDSL reads a string as bytes once it holds a character that is not ASCII.
    position = parser.pos
    data = parser.parse_optional_bytes_literal()
    if data is None:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        parser.raise_error("expected a string in UTF-8", position, parser.pos)


def _parse_scalar(parser: Parser, symbols: list[UnresolvedOperand]) -> Any:
    """One literal: a number, a boolean, a string, an element type, or an SSA value (noted in `symbols`)."""
    operand = parser.parse_optional_unresolved_operand()
    if operand is not None:
        symbols.append(operand)
        return DYNAMIC
    text = _parse_string(parser)
    if text is not None:
        return text
    if parser.parse_optional_punctuation("-") is not None:
        if parser.parse_optional_keyword("inf"):
            return float("-inf")
        return -parser.parse_number(allow_boolean=False)
    if parser.parse_optional_keyword("inf"):
        return float("inf")
    if parser.parse_optional_keyword("nan"):
        return float("nan")
    if parser.parse_optional_keyword("true"):
        return True
    if parser.parse_optional_keyword("false"):
        return False
    number = parser.parse_optional_number(allow_boolean=False)
    if number is not None:
        return number
    type = parser.parse_optional_type()
    if type is None:
        parser.raise_error("expected a number, a boolean, a string, an element type, a list or an SSA value")
    return type


def _parse_literal(parser: Parser, arg: Arg, symbols: list[UnresolvedOperand]) -> Attribute:
    position = parser.pos
    value: Any
    if parser.parse_optional_punctuation("[") is not None:
        items: list[Any] = []
        if parser.parse_optional_punctuation("]") is None:
            items.append(_parse_scalar(parser, symbols))
            while parser.parse_optional_punctuation(",") is not None:
                items.append(_parse_scalar(parser, symbols))
            parser.parse_punctuation("]")
        value = items
    else:
        value = _parse_scalar(parser, symbols)
    if value == DYNAMIC and type(value) is int:
        return DYNAMIC_ATTR
    try:
        return attribute_of(value, arg.type)
    except (TypeError, VerifyException):
        parser.raise_error(f"'{arg.name}' takes a literal of schema type {arg.type}", position, parser.pos)


def parse_op(cls: type[SchemaOp], parser: Parser) -> SchemaOp:
    """Parse the op after its name."""
    info = cls.info()
    operands: list[UnresolvedOperand] = []
    segments: list[int] = []
    properties: dict[str, Attribute] = {}
    first = True
    ended = False
    found: UnresolvedOperand | list[UnresolvedOperand | None] | None = None
    for arg in info.tensors:
        if not first and not ended:
            ended = parser.parse_optional_punctuation(",") is None
        before = len(operands)
        if first:
            # An op whose leading tensors are all absent, or that takes none, starts with its literals.
            found = _parse_first(parser, arg)
            ended = found is _ABSENT
        elif not ended:
            found = _parse_tensor(parser, arg)
        if ended:
            found = [] if arg.type.is_list else None
        first = False
        if ended and not arg.type.optional and not arg.type.is_list:
            parser.raise_error(f"{cls.name}: expected the tensor argument '{arg.name}'")
        if isinstance(found, list):
            if arg.type.element_optional:
                properties[present(arg)] = attribute_of(tuple(item is not None for item in found), BOOL_LIST)
            operands.extend(item for item in found if item is not None)
        elif found is not None:
            operands.append(found)
        segments.append(len(operands) - before)
    symbols: list[UnresolvedOperand] = []
    literals: dict[str, tuple[Attribute, list[UnresolvedOperand]]] = {}
    if parser.parse_optional_punctuation("{") is not None and parser.parse_optional_punctuation("}") is None:
        while True:
            position = parser.pos
            name = parser.parse_identifier(context_msg="expected the name of a literal argument")
            arg = info.schema.by_name.get(name)
            if arg is None or arg.type.is_tensor or name in literals:
                problem = (
                    "is given twice"
                    if name in literals
                    else f"is not a literal argument of {info.schema.text}"
                )
                parser.raise_error(f"'{name}' {problem}", position, position + len(name))
            parser.parse_punctuation("=")
            mine: list[UnresolvedOperand] = []
            literals[name] = (_parse_literal(parser, arg, mine), mine)
            if parser.parse_optional_punctuation(",") is None:
                break
        parser.parse_punctuation("}")
    # Symbols are operands in the schema's order, whatever order the text gives the literals in.
    for arg in info.literals:
        if arg.name in literals:
            properties[arg.name], mine = literals[arg.name]
            symbols.extend(mine)
    attributes = parser.parse_optional_attr_dict_with_keyword()
    parser.parse_punctuation(":")
    position = parser.pos
    operand_types, result_types = _parse_types(parser, len(operands) + len(symbols))
    values = parser.resolve_operands([*operands, *symbols], operand_types, position)
    if info.needs_segments:
        properties[SEGMENTS] = segment_sizes((*segments, len(symbols)))
    return cls.create(
        operands=values,
        result_types=result_types,
        properties=properties,
        attributes={} if attributes is None else attributes.data,
    )


_ABSENT: Any = object()


def _parse_first(parser: Parser, arg: Arg) -> Any:
    if arg.type.is_list:
        found = parser.parse_optional_comma_separated_list(
            parser.Delimiter.SQUARE, lambda: _parse_operand(parser)
        )
        return _ABSENT if found is None else found
    if parser.parse_optional_keyword("none"):
        return None
    operand = parser.parse_optional_unresolved_operand()
    return _ABSENT if operand is None else operand


def _parse_tensor(parser: Parser, arg: Arg) -> UnresolvedOperand | list[UnresolvedOperand | None] | None:
    if not arg.type.is_list:
        return _parse_operand(parser)
    return parser.parse_comma_separated_list(parser.Delimiter.SQUARE, lambda: _parse_operand(parser))


def _parse_types(parser: Parser, operands: int) -> tuple[Sequence[Attribute], Sequence[Attribute]]:
    if parser.parse_optional_punctuation("(") is None:
        type = parser.parse_type()
        return [type] * operands, [type]
    inputs: list[Attribute] = []
    if parser.parse_optional_punctuation(")") is None:
        inputs.append(parser.parse_type())
        while parser.parse_optional_punctuation(",") is not None:
            inputs.append(parser.parse_type())
        parser.parse_punctuation(")")
    parser.parse_punctuation("->")
    if parser.parse_optional_punctuation("(") is None:
        return inputs, [parser.parse_type()]
    outputs: list[Attribute] = []
    if parser.parse_optional_punctuation(")") is None:
        outputs.append(parser.parse_type())
        while parser.parse_optional_punctuation(",") is not None:
            outputs.append(parser.parse_type())
        parser.parse_punctuation(")")
    return inputs, outputs
