"""Torch's type promotion.

Two operands of one kind (bool, integer, float, complex) promote to the smallest type that holds both; of
two kinds, the higher kind wins, but a 0-d tensor, and below it a Python number, raises the type of what
ranks above it only when its kind is higher. The rules are those of torch.result_type
(https://pytorch.org/docs/stable/tensor_attributes.html#type-promotion-doc).
"""

from __future__ import annotations

from collections.abc import Iterable

from et_schema.scalar_type import ScalarType
from et_vm.kernels.portable.declare import Scalar
from et_vm.values import Tensor

DEFAULT_FLOAT = ScalarType.FLOAT

_SIGNED = (ScalarType.CHAR, ScalarType.SHORT, ScalarType.INT, ScalarType.LONG)
_REAL_OF_COMPLEX = {
    ScalarType.COMPLEXHALF: ScalarType.HALF,
    ScalarType.COMPLEXFLOAT: ScalarType.FLOAT,
    ScalarType.COMPLEXDOUBLE: ScalarType.DOUBLE,
}
_COMPLEX_OF_REAL = {real: complex_ for complex_, real in _REAL_OF_COMPLEX.items()}
REDUCED = frozenset({ScalarType.HALF, ScalarType.BFLOAT16})
"""The 16-bit floats."""


_KINDS = {
    scalar_type: 0
    if scalar_type == ScalarType.BOOL
    else 3
    if scalar_type.is_complex
    else 2
    if scalar_type.is_floating
    else 1
    for scalar_type in ScalarType
}


_STORED = frozenset(
    {
        ScalarType.BOOL,
        ScalarType.BYTE,
        ScalarType.CHAR,
        ScalarType.SHORT,
        ScalarType.INT,
        ScalarType.LONG,
        ScalarType.HALF,
        ScalarType.BFLOAT16,
        ScalarType.FLOAT,
        ScalarType.DOUBLE,
        ScalarType.COMPLEXFLOAT,
        ScalarType.COMPLEXDOUBLE,
    }
)
"""What results are converted to."""


def kind(scalar_type: ScalarType) -> int:
    """0 bool, 1 integer, 2 float, 3 complex."""
    return _KINDS[scalar_type]


def promote(a: ScalarType, b: ScalarType) -> ScalarType:
    """The type that holds values of both ``a`` and ``b`` (torch.promote_types)."""
    if a == b:
        return a
    kind_a, kind_b = kind(a), kind(b)
    if kind_a > kind_b:
        a, b, kind_a, kind_b = b, a, kind_b, kind_a
    if kind_b == 3:
        real_a = _REAL_OF_COMPLEX.get(a, a if kind_a == 2 else _REAL_OF_COMPLEX[b])
        return _COMPLEX_OF_REAL[_promote_floats(real_a, _REAL_OF_COMPLEX[b])]
    if kind_a < kind_b:
        return b
    return _promote_floats(a, b) if kind_a == 2 else _promote_integers(a, b)


def _promote_floats(a: ScalarType, b: ScalarType) -> ScalarType:
    if a == b:
        return a
    if a.itemsize == b.itemsize:  # half and bfloat16
        return ScalarType.FLOAT
    return a if a.itemsize > b.itemsize else b


def _promote_integers(a: ScalarType, b: ScalarType) -> ScalarType:
    if a in _SIGNED and b in _SIGNED:
        return max(a, b)
    signed, unsigned = (a, b) if a in _SIGNED else (b, a)
    if signed not in _SIGNED:
        return signed if signed.itemsize >= unsigned.itemsize else unsigned
    wide = next((t for t in _SIGNED if t.itemsize > unsigned.itemsize), ScalarType.LONG)
    return max(signed, wide)


def _of_scalar(value: Scalar) -> ScalarType:
    if isinstance(value, bool):
        return ScalarType.BOOL
    return ScalarType.LONG if isinstance(value, int) else DEFAULT_FLOAT


def _under(higher: ScalarType | None, lower: ScalarType | None) -> ScalarType | None:
    if higher is None or lower is None:
        return lower if higher is None else higher
    if kind(higher) >= kind(lower):
        return higher
    if kind(higher) == 2 and lower.is_complex:
        return (
            ScalarType.COMPLEXFLOAT if higher == ScalarType.BFLOAT16 else _COMPLEX_OF_REAL.get(higher, lower)
        )
    return promote(higher, lower)


def result_type(*operands: Tensor | Scalar) -> ScalarType:
    """The type in which torch computes an operation on ``operands``, at least one of them
    (torch.result_type).
    """
    first = operands[0] if operands else None
    if isinstance(first, Tensor) and all(
        isinstance(operand, Tensor) and operand.scalar_type == first.scalar_type for operand in operands
    ):
        return first.scalar_type
    ranked: list[ScalarType | None] = [None, None, None]
    for operand in operands:
        if isinstance(operand, Tensor):
            rank, found = (0 if operand.sizes else 1), operand.scalar_type
        else:
            rank, found = 2, _of_scalar(operand)
        known = ranked[rank]
        ranked[rank] = found if known is None else promote(known, found)
    result = _under(ranked[0], _under(ranked[1], ranked[2]))
    if result is None:
        raise ValueError("result_type of no operand")
    return result


def promote_all(types: Iterable[ScalarType]) -> ScalarType:
    """``promote`` over one or more types."""
    result: ScalarType | None = None
    for scalar_type in types:
        result = scalar_type if result is None else promote(result, scalar_type)
    if result is None:
        raise ValueError("promotion of no type")
    return result


def floating(scalar_type: ScalarType) -> ScalarType:
    """``scalar_type``, or the default float type when it is an integer or bool."""
    return scalar_type if kind(scalar_type) >= 2 else DEFAULT_FLOAT


def real_of(scalar_type: ScalarType) -> ScalarType:
    """The type of the parts of a complex number, any other type itself."""
    return _REAL_OF_COMPLEX.get(scalar_type, scalar_type)


def arithmetic(scalar_type: ScalarType) -> ScalarType:
    """The type torch does the arithmetic of ``scalar_type`` in: float32 for the 16-bit floats, rounded once
    at the end.
    """
    return ScalarType.FLOAT if scalar_type in REDUCED else scalar_type


def can_cast(source: ScalarType, target: ScalarType) -> bool:
    """Whether torch stores a result of type ``source`` into an out tensor of type ``target``
    (torch.can_cast), which is one of those that kernels compute in: no float8, nothing quantised.
    """
    if source == target:
        return True
    if target not in _STORED:
        return False
    source_kind, target_kind = kind(source), kind(target)
    if source_kind > 1 and target_kind < source_kind:
        return False
    return not (target_kind == 0 and source_kind != 0)
