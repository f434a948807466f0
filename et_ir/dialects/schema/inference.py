"""Result types of ops, by the shape rules of the operator library.

An op's operands and literals become what the rules know of them, and their answer becomes types of the IR. Encodings
are not inferred: they are no part of what an operator computes.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Any, Final, cast

from xdsl.dialects.builtin import TensorType, f64, i1, i64
from xdsl.ir import Attribute, SSAValue

from et_ir.dialects.schema.dtypes import attr_of, dtype_of
from et_ir.dialects.schema.literals import DYNAMIC, literal_of
from et_ir.dialects.schema.op import OpInfo, SchemaOp
from et_ops.dtypes import BOOL, F64, I64, DType
from et_ops.inference.meta import Meta

__all__ = ["infer", "meta_of", "read_args", "type_of"]

_NUMBERS: Final[dict[Attribute, Meta]] = {
    i64: Meta((), I64, True),
    f64: Meta((), F64, True),
    i1: Meta((), BOOL, True),
}


def infer(op: SchemaOp) -> Sequence[Attribute] | None:
    """The result types of an op, or `None` where no rule tells them.

    Raises `ValueError` if the operator does not take such operands.
    """
    rule = op.operator.shape_rule
    if rule is None:
        return None
    found = rule(*read_args(op))
    if isinstance(found, Meta):
        return (type_of(found),)
    if isinstance(found, DType):
        return (attr_of(found),)
    if found is None:
        return None
    return [type_of(item) for item in found]


@lru_cache(maxsize=16384)
def meta_of(type: Attribute) -> Meta:
    """Metadata of a type. Raises `ValueError` for one that is neither a tensor's nor a number's."""
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
    return TensorType(attr_of(meta.dtype), meta.shape)


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
