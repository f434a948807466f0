"""Verification rules for the parameters of quantized operators.

They are about what is known at compile time, and part of the contracts of Core ATen and of the edge level. Which
operand belongs to which limits is in the names of `quantized_decomposed`: `weight_scales`, `weight_zero_points` and
`weight_quant_min` are about one tensor.

| label | rule |
|---|---|
| `quantization_c1` | a scale is a number above zero, finite, and not subnormal, for its inverse would be infinite |
| `quantization_c2` | a zero point is within the limits of the integers |
| `quantization_c3` | the lower limit is below the upper one |
| `quantization_c4` | the type of a quantized value is what the operations that make and take it say |
| `quantization_c5` | its axis is one of the tensor, groups divide rows, and there are as many scales as parts |

That limits fit the type of the integers, that an axis is one of the tensor, that there are as many scales as channels,
and that groups divide a row are rules of the operators (`operand_c3`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Final, cast

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from et_ir.analysis.quantization import DEQUANTIZE, Quantization, numbers_of, quantization_of
from et_ir.analysis.quantized_values import quantized_type, quantized_values
from et_ir.diagnostics import Diagnostic, diagnose
from et_ir.dialects.program import GetOp, Globals, QuantizedType, quantized_type_of
from et_ir.dialects.schema import SchemaOp
from et_ir.dialects.schema.tensors import tensor_type
from et_ir.evaluation.arrays import Array
from et_ir.locations import module_path

__all__ = ["QuantizedTypes", "quantization_findings"]

_NAMESPACE: Final = "quantized_decomposed."
_LEAST: Final = float(np.finfo(np.float32).tiny)
"""The least scale: 2**-126. The inverse of a number below a quarter of it is infinite in float32."""
_INFER: Final = "correct the type, or drop it and run infer-quantized-types"
_SHOWN: Final = 3
"""Wrong numbers that a message lists."""


class QuantizedTypes:
    """Types of the quantized values of a module, beside what operations say of them."""

    def __init__(self, module: ModuleOp):
        self._module = module
        self._symbols = Globals(module)

    @cached_property
    def _values(self) -> Mapping[SSAValue, Quantization]:
        return quantized_values(self._module, self._symbols)

    def findings(self, op: Operation) -> Iterator[Diagnostic]:
        """Contradictions to the types of the results of an op, of the arguments of its blocks, and of the integers that
        it takes.
        """
        made = [
            *op.results,
            *(value for region in op.regions for block in region.blocks for value in block.args),
        ]
        for value in made:
            stated = quantized_type_of(value)
            if stated is None:
                continue
            fault = stated.shape_fault(tensor_type(value).get_shape())
            if fault is not None:
                yield diagnose(op, f"[quantization_c5] type {value.type}: {fault}", _INFER)
            elif (found := self._values.get(value)) is not None:
                yield from _contradiction(op, stated, found, "is")
        if isinstance(op, DEQUANTIZE):
            stated = quantized_type_of(op.operands[0])
            # Quantizations of all values are found where a type is stated only: they have the numbers of all scales.
            made_by = None if stated is None else self._values.get(op.operands[0])
            # Of what nothing else says anything of, the op that made it reports.
            if stated is None or made_by is None:
                return
            if not any(_contradiction(op, stated, made_by, "is")):
                yield from _contradiction(op, stated, quantization_of(op, self._symbols), "is taken as")


def _contradiction(
    op: Operation, stated: QuantizedType, found: Quantization, how: str
) -> Iterator[Diagnostic]:
    try:
        said = quantized_type(found)
    except VerifyException as error:
        yield diagnose(op, f"[quantization_c4] a value of type {stated} {how} of no type: {error}", _INFER)
        return
    if said != stated:
        yield diagnose(op, f"[quantization_c4] a value of type {stated} {how} {said}", _INFER)


def quantization_findings(op: Operation, symbols: Globals) -> Iterator[Diagnostic]:
    """Violations of the rules at one op, with the names of the constants that hold wrong numbers."""
    if not isinstance(op, SchemaOp) or not op.operator.name.startswith(_NAMESPACE):
        return
    names = [arg.name for arg in op.schema().args]
    for name in names:
        for ending, other in (("scales", "zero_points"), ("scale", "zero_point")):
            if name.endswith(ending):
                prefix = name.removesuffix(ending)
                yield from _scales(op, name, symbols)
                yield from _zero_points(op, prefix + other, _limits(op, prefix), symbols)
    for name in names:
        if name.endswith("quant_min"):
            limits = _limits(op, name.removesuffix("quant_min"))
            if limits is not None and limits[0] >= limits[1]:
                message = f"[quantization_c3] the limits {limits[0]} and {limits[1]} leave no range"
                yield diagnose(op, message, "quant_min is below quant_max")


def _limits(op: SchemaOp, prefix: str) -> tuple[int, int] | None:
    """The limits of the integers, unless they are tensors."""
    by_name = op.schema().by_name
    found = [op.arg(name) for name in (f"{prefix}quant_min", f"{prefix}quant_max") if name in by_name]
    if len(found) < 2 or any(isinstance(limit, SSAValue) for limit in found):
        return None
    return cast("tuple[int, int]", tuple(found))


def _known(op: SchemaOp, name: str, symbols: Globals) -> tuple[Any, Array | None]:
    """An argument, and the numbers that it is if these are known; there may be no such argument."""
    value = op.arg(name) if name in op.schema().by_name else None
    return value, None if value is None else numbers_of(value, symbols, np.float64)


def _scales(op: SchemaOp, name: str, symbols: Globals) -> Iterator[Diagnostic]:
    value, scales = _known(op, name, symbols)
    if scales is None:
        return
    good = (scales >= _LEAST) & np.isfinite(scales)
    if not good.all():
        message = f"[quantization_c1] {_list(op, name, value, scales, ~good)}: not a positive, finite, normal number"
        fix = "calibrate with data that the layer takes, with an eps in the observer, or keep the layer in floats"
        yield diagnose(op, message, fix)


def _zero_points(
    op: SchemaOp, name: str, limits: tuple[int, int] | None, symbols: Globals
) -> Iterator[Diagnostic]:
    value, zeros = _known(op, name, symbols)
    if zeros is None or limits is None:
        return
    good = (zeros >= limits[0]) & (zeros <= limits[1])
    if not good.all():
        message = (
            f"[quantization_c2] {_list(op, name, value, zeros, ~good)}: not in [{limits[0]}, {limits[1]}]"
        )
        yield diagnose(op, message, "clamp zero points to quant_min and quant_max, or correct the limits")


def _list(op: SchemaOp, name: str, value: Any, numbers: Array, wrong: Array) -> str:
    """`'scales' of @fc.scales has 0 at [1]`: the first of the wrong numbers, and how many others there are. What is no
    constant is of the layer: `'scale' in fc is 0`.
    """
    source = value.owner if isinstance(value, SSAValue) else None
    layer = module_path(op.location)
    of = f" in {layer}" if layer else ""
    if isinstance(source, GetOp):
        of = f" of @{source.symbol.string_value()}"
    if not numbers.ndim:
        return f"'{name}'{of} is {numbers.item():g}"
    places: Sequence[Sequence[int]] = np.argwhere(wrong).tolist()
    shown = ", ".join(f"{numbers[tuple(place)]:g} at {place}" for place in places[:_SHOWN])
    more = f" and {len(places) - _SHOWN} more" if len(places) > _SHOWN else ""
    return f"'{name}'{of} has {shown}{more}"
