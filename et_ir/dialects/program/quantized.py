"""The quantization of a value, in the text: limits, scales and zero points of its integers."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Final, NamedTuple

from xdsl.ir import Data
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from et_ir.dialects.discardable import discardable

__all__ = ["QUANTIZED", "Numbers", "QuantizedAttr", "QuantizedType"]

_LISTED: Final = 8
"""The most numbers that are all in the text."""
_DIGITS: Final = 6
_KINDS: Final = {"tensor": False, "channel": True, "group": True, "token": False}
"""The granularities; those with a number say which dimension, or how many elements."""


class Numbers(NamedTuple):
    """Scales or zero points: all of them, or of many how many there are and in what range; none if run time tells."""

    values: tuple[float, ...]
    """All numbers, of six digits; one if all are equal, the least and the largest if there are more than eight."""
    number: int = 1
    """How many numbers there are, where `values` is their range; else 1."""

    @staticmethod
    def of(numbers: Iterable[float]) -> Numbers:
        """Each rounded to six digits."""
        rounded = tuple(float(f"{number:.{_DIGITS}g}") for number in numbers)
        if len(set(rounded)) == 1:
            return Numbers(rounded[:1])
        if len(rounded) <= _LISTED:
            return Numbers(rounded)
        return Numbers((min(rounded), max(rounded)), len(rounded))

    def __str__(self) -> str:
        if not self.values:
            return "?"
        texts = [f"{value:.{_DIGITS}g}" for value in self.values]
        if self.number > 1:
            return f"{self.number} in [{', '.join(texts)}]"
        return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"


class QuantizedType(NamedTuple):
    """The type of quantized numbers."""

    element: str
    """Name of the element type: `i8`."""
    limits: tuple[int, int]
    """The smallest and the largest integer."""
    granularity: str
    """Which elements share a scale: `tensor`, `channel`, `group` or `token`."""
    parameter: int
    """The dimension of channels, or the elements of a group; else 0."""
    scale: Numbers
    """Scales; the numbers are above zero."""
    zero_point: Numbers
    """Zero points; within the limits."""


@irdl_attr_definition
class QuantizedAttr(Data[QuantizedType]):
    """What the integers of a value stand for: `(q - zero_point) * scale`.

    ```mlir
    #program.quantized<i8 [-128, 127], tensor, scale = 0.05, zero_point = 3>
    #program.quantized<i8 [-127, 127], channel 0, scale = [0.5, 0.25], zero_point = 0>
    #program.quantized<i8 [-8, 7], group 32, scale = 96 in [0.001, 0.02], zero_point = 0>
    #program.quantized<i8 [-128, 127], token, scale = ?, zero_point = ?>
    ```

    More than eight numbers are given as their count and range; `?` are numbers that are computed at run time. Rule:
    `quantized_c1` limits are of the element type, scales positive and finite, zero points within the limits.
    """

    name = "program.quantized"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> QuantizedType:
        with parser.in_angle_brackets():
            element = parser.parse_identifier()
            low, high = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_integer)
            parser.parse_punctuation(",")
            granularity = parser.parse_identifier()
            if granularity not in _KINDS:
                parser.raise_error(f"expected one of {', '.join(_KINDS)}, not {granularity}")
            parameter = parser.parse_integer() if _KINDS[granularity] else 0
            numbers: list[Numbers] = []
            for name in ("scale", "zero_point"):
                parser.parse_punctuation(",")
                parser.parse_keyword(name)
                parser.parse_punctuation("=")
                numbers.append(_parse_numbers(parser))
        return QuantizedType(element, (low, high), granularity, parameter, *numbers)

    def print_parameter(self, printer: Printer) -> None:
        data = self.data
        number = f" {data.parameter}" if _KINDS[data.granularity] else ""
        with printer.in_angle_brackets():
            printer.print_string(
                f"{data.element} [{data.limits[0]}, {data.limits[1]}], {data.granularity}{number}, "
                f"scale = {data.scale}, zero_point = {data.zero_point}"
            )

    def verify(self) -> None:
        data = self.data
        least, most = _range(data.element)
        low, high = data.limits
        if not least <= low < high <= most:
            raise VerifyException(f"[quantized_c1] the limits [{low}, {high}] are not within {data.element}")
        for scale in data.scale.values:
            if not 0 < scale < math.inf:
                raise VerifyException(f"[quantized_c1] a scale is above zero and finite, not {scale:g}")
        for zero in data.zero_point.values:
            if not low <= zero <= high:
                raise VerifyException(f"[quantized_c1] the zero point {zero:g} is not in [{low}, {high}]")


QUANTIZED: Final = discardable("program.quantized", QuantizedAttr)
"""The quantization of the only result of an op, which `annotate-quantization` writes. It follows from the operations
that quantize and dequantize the value.
"""


def _range(element: str) -> tuple[int, int]:
    unsigned = element.startswith("ui")
    digits = element.removeprefix("ui" if unsigned else "i")
    if digits not in ("8", "16", "32"):
        raise VerifyException(f"[quantized_c1] {element} is no type of quantized numbers")
    bits = int(digits)
    return (0, (1 << bits) - 1) if unsigned else (-(1 << (bits - 1)), (1 << (bits - 1)) - 1)


def _parse_numbers(parser: AttrParser) -> Numbers:
    if parser.parse_optional_punctuation("?") is not None:
        return Numbers(())
    listed = parser.parse_optional_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_number)
    if listed is not None:
        return Numbers(tuple(map(float, listed)))
    first = parser.parse_number()
    if parser.parse_optional_keyword("in") is None:
        return Numbers((float(first),))
    bounds = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_number)
    return Numbers(tuple(map(float, bounds)), int(first))
