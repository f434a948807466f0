"""The element type of quantized tensors: limits, scales and zero points of their integers."""

from __future__ import annotations

import hashlib
import math
import re
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
from xdsl.ir import Attribute, Data, SSAValue
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from et_ir.dialects.schema.literals import ELEMENT_TYPES
from et_ir.dialects.schema.storage import StoredType
from et_ir.dialects.schema.tensors import is_tensor

__all__ = ["Numbers", "QuantizedParameters", "QuantizedType", "quantized_type_of"]

_LISTED: Final = 8
"""The most numbers that are all in the text."""
_SHORTEST, _LONGEST = 6, 9
"""Digits that are enough for some numbers of f32, and for all."""
_HASH: Final = 8
"""Digits of the hash of numbers that are not all in the text."""
_BOUNDS: Final = 2
"""Numbers that are a range."""
_KINDS: Final = {"tensor": False, "channel": True, "group": True, "token": False}
"""The granularities; those with a number say which dimension, or how many elements."""


def _single(number: float) -> float:
    """A number as f32 has it; infinite if it is too large."""
    try:
        with np.errstate(over="ignore"):
            return float(np.float32(number))
    except OverflowError:  # an integer that is none of f64
        return math.inf if number > 0 else -math.inf


def _text(number: float) -> str:
    """The shortest text that gives back a number of f32, which xDSL's parser reads."""
    texts = (f"{number:.{digits}g}" for digits in range(_SHORTEST, _LONGEST + 1))
    text = next((one for one in texts if _single(float(one)) == number), repr(number))
    mantissa, exponent, rest = text.partition("e")
    return f"{mantissa}{'.0' if exponent and '.' not in mantissa else ''}{exponent}{rest}"


class Numbers(NamedTuple):
    """Scales or zero points: all of them, or of many how many there are and in what range; none if run time tells."""

    values: tuple[float, ...]
    """All numbers, as f32 has them; one if all are equal, the least and the largest if there are more than eight."""
    number: int = 1
    """How many numbers there are, where `values` is their range; else 1."""
    sha256: str = ""
    """The beginning of the hash of the numbers, f32, where `values` is their range."""

    @staticmethod
    def of(numbers: npt.ArrayLike) -> Numbers:
        """Each rounded to f32."""
        with np.errstate(over="ignore"):
            found = np.asarray(numbers, np.float64).astype(np.float32).reshape(-1)
        if found.size and (found == found[0]).all():
            return Numbers((float(found[0]),))
        if found.size <= _LISTED:
            return Numbers(tuple(found.tolist()))
        sha256 = hashlib.sha256(found.tobytes()).hexdigest()[:_HASH]
        return Numbers((float(found.min()), float(found.max())), found.size, sha256)

    @property
    def told_apart(self) -> int:
        """How many numbers are told apart; 1 also where all are equal, 0 where run time tells them."""
        return self.number if self.number > 1 else len(self.values)

    def __str__(self) -> str:
        if not self.values:
            return "?"
        texts = [_text(value) for value in self.values]
        if self.number > 1:
            return f'{self.number} in [{", ".join(texts)}] "{self.sha256}"'
        return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"


class QuantizedParameters(NamedTuple):
    """The real numbers that the integers of a tensor stand for."""

    element: str
    """Name of the element type that they are stored in: `i8`."""
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
class QuantizedType(Data[QuantizedParameters], StoredType):
    """The element type of integers that stand for `(q - zero_point) * scale`.

    ```mlir
    !program.quantized<i8 [-128, 127], tensor, scale = 0.05, zero_point = 3>
    !program.quantized<i8 [-127, 127], channel 0, scale = [0.5, 0.25], zero_point = 0>
    !program.quantized<i8 [-8, 7], group 32, scale = 96 in [0.001, 0.02] "6b86b273", zero_point = 0>
    !program.quantized<i8 [-128, 127], token, scale = ?, zero_point = ?>
    ```

    To operators it is the type that the integers are stored in. More than eight numbers are given as their count,
    their range and the beginning of their SHA-256 as f32; `?` are numbers that are computed at run time. Rule:
    `quantized_c1` limits are of the element type, scales positive and finite, zero points within the limits.
    """

    name = "program.quantized"

    @property
    def storage(self) -> Attribute:
        return ELEMENT_TYPES[self.data.element]

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> QuantizedParameters:
        with parser.in_angle_brackets():
            element = parser.parse_identifier()
            limits = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_integer)
            if len(limits) != _BOUNDS:
                parser.raise_error(
                    f"expected the smallest and the largest integer, not {len(limits)} numbers"
                )
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
        return QuantizedParameters(element, (limits[0], limits[1]), granularity, parameter, *numbers)

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
            if not zero.is_integer():
                raise VerifyException(f"[quantized_c1] a zero point is an integer, not {zero:g}")

    def shape_fault(self, shape: tuple[int, ...]) -> str | None:
        """Why a tensor of a shape, -1 for sizes that are not known, cannot have this type; None if it can."""
        kind, parameter = self.data.granularity, self.data.parameter
        if kind == "channel" and not 0 <= parameter < len(shape):
            return f"channels are dimension {parameter} of {len(shape)}"
        if kind == "group" and (not shape or parameter <= 0 or (shape[-1] >= 0 and shape[-1] % parameter)):
            return f"groups of {parameter} do not divide rows of {shape[-1] if shape else 0}"
        sizes = {
            "tensor": (),
            "channel": shape[parameter : parameter + 1],
            "group": (*shape[:-1], shape[-1] // max(parameter, 1)) if shape else (),
            "token": shape[:-1],
        }[kind]
        if min(sizes, default=0) < 0:
            return None
        for name, numbers in (("scale", self.data.scale), ("zero_point", self.data.zero_point)):
            if numbers.told_apart > 1 and numbers.told_apart != math.prod(sizes):
                return f"'{name}' has {numbers.told_apart} numbers for {math.prod(sizes)}"
        return None


def quantized_type_of(value: SSAValue) -> QuantizedType | None:
    """The element type of a value if it is a quantized tensor's."""
    type: Attribute = value.type
    element = type.element_type if is_tensor(type) else None
    return element if isinstance(element, QuantizedType) else None


def _range(element: str) -> tuple[int, int]:
    unsigned = element.startswith("ui")
    digits = element.removeprefix("ui" if unsigned else "i")
    if digits not in ("8", "16", "32") or element not in ELEMENT_TYPES:
        raise VerifyException(f"[quantized_c1] {element} is not a type of quantized numbers")
    bits = int(digits)
    return (0, (1 << bits) - 1) if unsigned else (-(1 << (bits - 1)), (1 << (bits - 1)) - 1)


def _parse_numbers(parser: AttrParser) -> Numbers:
    if parser.parse_optional_punctuation("?") is not None:
        return Numbers(())
    listed = parser.parse_optional_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_number)
    if listed is not None:
        if not listed:
            parser.raise_error("expected numbers, or '?' for those of run time")
        return Numbers(tuple(map(_single, listed)))
    first = parser.parse_number()
    if parser.parse_optional_keyword("in") is None:
        return Numbers((_single(first),))
    if not isinstance(first, int) or first <= _LISTED:
        parser.raise_error(f"expected a count above {_LISTED} before 'in', not {first}")
    bounds = tuple(
        map(_single, parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_number))
    )
    if len(bounds) != _BOUNDS or not bounds[0] < bounds[1]:
        parser.raise_error("expected the least and the largest number")
    sha256 = parser.parse_str_literal()
    if re.fullmatch(f"[0-9a-f]{{{_HASH}}}", sha256) is None:
        parser.raise_error(f"expected {_HASH} hexadecimal digits of the hash")
    return Numbers(bounds, first, sha256)
