"""Symbolic sizes of tensor types, and the ranges of their symbols."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache
from types import MappingProxyType
from typing import Final, NamedTuple, cast

from xdsl.dialects.builtin import NoneAttr, TensorType, i64
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Data, Operation, SSAValue
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.traits import OpTrait
from xdsl.utils.exceptions import VerifyException

from et_ir.dialects.discardable import discardable
from et_ops.intervals import Interval
from et_ops.sizes import Expression, Ranges, Undecided

__all__ = [
    "RANGES",
    "Encoding",
    "RangesAttr",
    "SizesAttr",
    "encoding_of",
    "method_ranges",
    "ranges_of",
    "stated_ranges",
    "values_of",
]


class Encoding(NamedTuple):
    """One expression for each `?` in a tensor type, `None` where it is not known, and the memory layout if there is
    one beside.
    """

    sizes: tuple[Expression | None, ...]
    layout: Attribute = NoneAttr()


@irdl_attr_definition
class SizesAttr(Data[Encoding]):
    """The symbolic sizes of a tensor type: an expression of the method's symbols for each `?` in turn.

    ```mlir
    tensor<?x4x?xf32, #program.sizes<s0, 2*s0 + 1>>
    tensor<?x3x?x8xf32, #program.sizes<?, s0 floordiv 2 in #edge.dim_order<0, 2, 3, 1>>>
    ```

    Expressions are sums of products of integers, symbols, `a floordiv b`, `a mod b`, `max(a, b)` and `min(a, b)`; `?`
    stands where none is known. A memory layout, if there is one, follows. Equal symbols are equal numbers in a
    run of the method; `#program.ranges` says what they can be.

    Rule: `sizes_c1` some size is known.
    """

    name = "program.sizes"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> Encoding:
        with parser.in_angle_brackets():
            sizes = parser.parse_comma_separated_list(parser.Delimiter.NONE, lambda: _size(parser))
            has_layout = parser.parse_optional_keyword("in") is not None
            layout = parser.parse_attribute() if has_layout else NoneAttr()
        return Encoding(tuple(sizes), layout)

    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(", ".join("?" if size is None else str(size) for size in self.data.sizes))
            if self.data.layout != NoneAttr():
                printer.print_string(" in ")
                printer.print_attribute(self.data.layout)

    def verify(self) -> None:
        if all(size is None for size in self.data.sizes):
            raise VerifyException("[sizes_c1] says nothing of any size: drop the encoding")


@lru_cache(maxsize=4096)
def encoding_of(sizes: tuple[Expression | None, ...], layout: Attribute) -> Attribute:
    """The encoding of a type with such sizes in the place of its `?`."""
    if all(size is None for size in sizes):
        return layout
    return SizesAttr(Encoding(sizes, layout))


class _Stated(tuple[tuple[str, Interval], ...]):
    """Ranges by symbol, in the order in which they are stated."""

    @cached_property
    def by_name(self) -> Ranges:
        return dict(self)


@irdl_attr_definition
class RangesAttr(Data[tuple[tuple[str, Interval], ...]]):
    """The ranges of a method's symbols, with a lower bound, an upper bound, or neither.

    ```mlir
    func.func @forward(%x: tensor<?x?xf32, #program.sizes<s0, u0>>)
      attributes {program.ranges = #program.ranges<s0 from 2 to 128, u0 from 0>}
    ```

    Rules: `ranges_c1` each symbol is stated once, `ranges_c2` it can be some number.
    """

    name = "program.ranges"

    @staticmethod
    def of(ranges: Ranges) -> RangesAttr:
        """The attribute for ranges by symbol."""
        return RangesAttr(_Stated(ranges.items()))

    @property
    def ranges(self) -> Ranges:
        """The ranges by symbol."""
        data = self.data
        return data.by_name if isinstance(data, _Stated) else dict(data)

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> _Stated:
        def one() -> tuple[str, Interval]:
            name = parser.parse_identifier(context_msg=" of a symbol")
            ends = [
                parser.parse_integer() if parser.parse_optional_keyword(word) is not None else None
                for word in ("from", "to")
            ]
            return name, Interval(*ends)

        return _Stated(parser.parse_comma_separated_list(parser.Delimiter.ANGLE, one))

    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(", ".join(_stated(name, *range) for name, range in self.data))

    def verify(self) -> None:
        seen: set[str] = set()
        for name, (least, most) in self.data:
            if name in seen:
                raise VerifyException(f"[ranges_c1] the range of {name} is stated twice")
            seen.add(name)
            if least is not None and most is not None and least > most:
                raise VerifyException(f"[ranges_c2] {name} is from {least} to {most}: it can be no number")


RANGES: Final = discardable("program.ranges", RangesAttr)
"""The attribute of a method with the ranges of its symbols."""


def _stated(name: str, least: int | None, most: int | None) -> str:
    words = (f" {word} {end}" for word, end in (("from", least), ("to", most)) if end is not None)
    return "".join([name, *words])


class ComputesSize(OpTrait):
    """An op that computes a number from others, which may be sizes."""

    @abstractmethod
    def expression(self, op: Operation, operands: Sequence[Expression]) -> Expression | None:
        """The expression of the number for those of the operands, `None` if there is none. Raises `Undecided`."""


_NONE: Final[Ranges] = MappingProxyType({})


def values_of(op: Operation) -> Iterator[SSAValue]:
    """The values that an op defines: its results, and the arguments of its regions."""
    yield from op.results
    for region in op.regions:
        for block in region.blocks:
            yield from block.args


def ranges_of(op: Operation) -> Ranges:
    """The ranges of the symbols of the method that an op belongs to.

    An op that is not in its method yet, as rewrites make them, belongs to that of its operands.
    """
    at: Operation | None = op
    while at is not None:
        parent = at.parent_op()
        if parent is None:
            parent = _owner(at)
        if isinstance(parent, FuncOp):
            return method_ranges(parent)
        at = parent
    return _NONE


def stated_ranges(op: Operation) -> RangesAttr | None:
    """The attribute with the ranges of the method that an op in a method belongs to, `None` if it has none."""
    at: Operation | None = op
    while at is not None and not isinstance(at, FuncOp):
        at = at.parent_op()
    found = None if at is None else at.attributes.get(RANGES)
    return found if isinstance(found, RangesAttr) else None


def method_ranges(method: Operation) -> Ranges:
    """The ranges of the symbols of a method."""
    stated = stated_ranges(method)
    return _NONE if stated is None else stated.ranges


def _owner(op: Operation) -> Operation | None:
    """The op that gives an operand which is or has a symbolic size, or in which it is an argument."""
    for value in op.operands:
        type = value.type
        if type == i64 or (
            isinstance(type, TensorType)
            and isinstance(cast("TensorType[Attribute]", type).encoding, SizesAttr)
        ):
            owner = value.owner
            return owner if isinstance(owner, Operation) else owner.parent_op()
    return None


# -- text


def _size(parser: AttrParser) -> Expression | None:
    if parser.parse_optional_punctuation("?") is not None:
        return None
    try:
        return _sum(parser)
    except Undecided as error:
        parser.raise_error(str(error))


def _sum(parser: AttrParser) -> Expression:
    found = _product(parser)
    while True:
        if parser.parse_optional_punctuation("+") is not None:
            found = found + _product(parser)
        elif parser.parse_optional_punctuation("-") is not None:
            found = found - _product(parser)
        else:
            return found


def _product(parser: AttrParser) -> Expression:
    found = _factor(parser)
    while True:
        if parser.parse_optional_punctuation("*") is not None:
            found = found * _factor(parser)
        elif parser.parse_optional_keyword("floordiv") is not None:
            found = found // _divisor(parser)
        elif parser.parse_optional_keyword("mod") is not None:
            found = found % _divisor(parser)
        else:
            return found


def _divisor(parser: AttrParser) -> Expression:
    found = _factor(parser)
    if found.constant == 0:
        parser.raise_error("a size is divided by 0")
    return found


def _factor(parser: AttrParser) -> Expression:
    if parser.parse_optional_punctuation("(") is not None:
        found = _sum(parser)
        parser.parse_punctuation(")")
        return found
    if parser.parse_optional_punctuation("-") is not None:
        return -_factor(parser)
    number = parser.parse_optional_integer(allow_boolean=False, allow_negative=False)
    if number is not None:
        return Expression.of(number)
    name = parser.parse_identifier(context_msg=" of a symbol in a size")
    if name not in ("max", "min"):
        return Expression.of(name)
    parser.parse_punctuation("(")
    first, *others = parser.parse_comma_separated_list(parser.Delimiter.NONE, lambda: _sum(parser))
    parser.parse_punctuation(")")
    return first.maximum(*others) if name == "max" else first.minimum(*others)
