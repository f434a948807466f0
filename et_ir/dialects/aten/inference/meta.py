"""What inference knows of an operand: `Meta`, and how it is read from an op and becomes a result type."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from typing import Any, Final, NamedTuple, TypeVar, cast

from xdsl.dialects.builtin import TensorType, f64, i1, i64
from xdsl.ir import Attribute, SSAValue

from et_ir.dialects.aten.inference.dtypes import BOOL, F64, I64, DType, dtype_of
from et_ir.dialects.schema import DYNAMIC, OpInfo, SchemaOp
from et_ir.dialects.schema.literals import literal_of

__all__ = [
    "RULES",
    "UNKNOWN",
    "Meta",
    "Number",
    "Result",
    "Rule",
    "number_dtype",
    "read_args",
    "rule",
    "type_of",
]

UNKNOWN: Final = DYNAMIC
"""A size that is known at run time only: the same mark in shapes, where it prints as `?`, as in arguments."""


class Meta(NamedTuple):
    """Shape and element type of a tensor; `wrapped` says that it is a Python number in a tensor's place."""

    shape: tuple[int, ...]
    dtype: DType
    wrapped: bool = False

    @property
    def rank(self) -> int:
        return len(self.shape)


Number = bool | int | float | Meta
"""A `Scalar` argument. One that is known at run time only is a wrapped `Meta`."""

Result = Meta | Attribute | Sequence[Meta] | None
Rule = Callable[..., Result]

RULES: Final[dict[str, Rule]] = {}
"""Inference rules by operator name. A rule takes the schema's arguments in order.

Tensors are `Meta`, element types `DType`, sizes known at run time only `DYNAMIC`. The result is a `Meta` or a
sequence of them, an IR type where the result is a number, and `None` where the types cannot be told. A rule
raises `ValueError` for operands that the operator does not take.
"""

_F = TypeVar("_F", bound=Rule)


def rule(*names: str) -> Callable[[_F], _F]:
    """Register a function as the rule of operators, given one by one or several in a text."""

    def register(function: _F) -> _F:
        for name in " ".join(names).split():
            if name in RULES:
                raise AssertionError(f"{name} has two inference rules")
            RULES[name] = function
        return function

    return register


_NUMBERS: Final[dict[Attribute, Meta]] = {
    i64: Meta((), I64, True),
    f64: Meta((), F64, True),
    i1: Meta((), BOOL, True),
}


@lru_cache(maxsize=16384)
def meta_of(type: Attribute) -> Meta:
    """What a type says. Raises `ValueError` for one that is neither a tensor's nor a number's."""
    if isinstance(type, TensorType):
        tensor = cast("TensorType[Attribute]", type)
        return Meta(tensor.get_shape(), dtype_of(tensor.element_type))
    found = _NUMBERS.get(type)
    if found is None:
        raise ValueError(f"{type} is neither a tensor nor a number")
    return found


@lru_cache(maxsize=16384)
def type_of(meta: Meta) -> Attribute:
    """The tensor type of a `Meta`, without an encoding."""
    return TensorType(meta.dtype.attr, meta.shape)


def number_dtype(number: Number) -> DType:
    """The type of a Python number as its wrapped tensor has it: i1, i64 or f64."""
    if isinstance(number, Meta):
        return number.dtype
    if isinstance(number, bool):
        return BOOL
    return I64 if isinstance(number, int) else F64


@cache
def _plan(info: OpInfo) -> tuple[tuple[str, bool, str], ...]:
    """Name, whether it is a tensor, and base type of each argument."""
    return tuple((arg.name, arg.type.is_tensor, arg.type.base) for arg in info.schema.args)


def _tensor(value: Any) -> Any:
    if value is None:
        return None
    if isinstance(value, tuple):
        return tuple(_tensor(item) for item in cast("tuple[SSAValue | None, ...]", value))
    return meta_of(cast(SSAValue, value).type)


def read_args(op: SchemaOp) -> list[Any]:
    """The arguments of an op as rules take them."""
    info = op.info()
    tensors = iter(op.tensor_operands() if info.needs_segments else op.operands)
    properties = op.properties
    found: list[Any] = []
    for name, is_tensor, base in _plan(info):
        if is_tensor:
            found.append(_tensor(next(tensors)))
            continue
        attr = properties.get(name)
        if attr is None:
            found.append(None)
        elif base == "ScalarType":
            found.append(dtype_of(attr))
        else:
            value: Any = literal_of(attr)
            if value == DYNAMIC and base == "Scalar":
                value = meta_of(cast(SSAValue, op.arg(name)).type)
            found.append(value)
    return found
