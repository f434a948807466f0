"""Result types of ops, by the shape rules of the operator library.

An op's operands and literals become what the rules know of them, and their answer becomes types of the IR. Memory
layouts are not inferred: they are no part of what an operator computes.

Where operands have symbolic sizes, the rule is given them first, and computes with expressions. If what it computes
depends on the values of the symbols, it is given unknown sizes instead.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from typing import Any, Final, cast

from xdsl.dialects.builtin import IntegerAttr, TensorType, f64, i1, i64
from xdsl.ir import Attribute, Block, SSAValue
from xdsl.traits import ConstantLike

from et_ir.dialects.schema.dtypes import attr_of, dtype_of
from et_ir.dialects.schema.literals import DYNAMIC, literal_of
from et_ir.dialects.schema.op import OpInfo, SchemaOp
from et_ir.dialects.schema.sizes import ComputesSize, SizesAttr, ranges_of
from et_ir.dialects.schema.tensors import is_tensor, sized_tensor, sizes_of
from et_ops.dtypes import BOOL, F64, I64, DType
from et_ops.inference.meta import Meta, Result
from et_ops.sizes import Expression, Ranges, SymbolicSize, Undecided

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
    if any(map(_is_symbolic, op.operands)):
        try:
            return _types(rule(*_symbolic_args(op)), _symbolic_type)
        except Undecided:
            pass
    return _types(rule(*read_args(op)), type_of)


def _is_symbolic(value: SSAValue) -> bool:
    """Whether a value is, or has, a size of which there is an expression."""
    type = value.type
    if isinstance(type, TensorType):
        return isinstance(cast("TensorType[Attribute]", type).encoding, SizesAttr)
    return type == i64 and size_of(value) is not None


def _types(found: Result, type_of: Callable[[Meta], Attribute]) -> Sequence[Attribute] | None:
    if isinstance(found, Meta):
        return (type_of(found),)
    if isinstance(found, DType):
        return (attr_of(found),)
    if found is None or None in found:
        return None  # a result that is not asked for is no tensor
    return [type_of(item) for item in cast("Sequence[Meta]", found)]


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
    for name, takes_tensor, base in _plan(info):
        if takes_tensor:
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
                # The mark may be the number itself.
                number = op.arg(name)
                value = (
                    meta_of(cast("SSAValue[Attribute]", number).type)
                    if isinstance(number, SSAValue)
                    else number
                )
            found.append(value)
    return found


# -- symbolic sizes


def size_of(number: SSAValue) -> Expression | None:
    """The expression of symbols that an integer is, `None` if that is not known."""
    owner = number.owner
    if isinstance(owner, SchemaOp):
        return _read_size(owner)
    if isinstance(owner, Block) or number.type != i64:
        return None
    if owner.has_trait(ConstantLike):
        # xDSL's own way to the value of a constant needs a folder, which ops of numbers have none of.
        constant = owner.properties.get("value")
        return Expression.of(constant.value.data) if isinstance(constant, IntegerAttr) else None
    computes = owner.get_trait(ComputesSize)
    operands = [] if computes is None else [size_of(operand) for operand in owner.operands]
    if computes is None or None in operands:
        return None
    try:
        return computes.expression(owner, cast("list[Expression]", operands))
    except Undecided:
        return None


def _read_size(owner: SchemaOp) -> Expression | None:
    if owner.operator.view_form != "sym_size.int":
        return None
    tensor = owner.operands[0].type
    if not is_tensor(tensor):
        return None
    size = sizes_of(tensor)[cast(int, owner.arg("dim"))]
    return None if size is None else Expression.of(size)


def _symbolic_type(meta: Meta) -> Attribute:
    sizes = [
        size.expression if isinstance(size, SymbolicSize) else None if size < 0 else size
        for size in cast("tuple[int | SymbolicSize, ...]", meta.shape)
    ]
    return sized_tensor(attr_of(meta.dtype), sizes)


def _symbolic_args(op: SchemaOp) -> list[Any]:
    """The arguments of an op as rules take them, with symbolic sizes."""
    ranges = ranges_of(op)
    found = read_args(op)
    for index, arg in enumerate(op.info().schema.args):
        if arg.type.is_tensor:
            found[index] = _with_symbols(op.arg(arg.name), found[index], ranges)
        elif arg.type.base in ("int", "SymInt", "Scalar"):
            found[index] = _symbolic_number(op.arg(arg.name), found[index], ranges)
    return found


def _with_symbols(given: Any, meta: Any, ranges: Ranges) -> Any:
    if isinstance(given, tuple):
        return tuple(
            _with_symbols(*pair, ranges) for pair in zip(cast("tuple[Any, ...]", given), meta, strict=True)
        )
    if given is None or not is_tensor(given.type) or not isinstance(given.type.encoding, SizesAttr):
        return meta
    return meta._replace(
        shape=tuple(
            SymbolicSize.of(size, ranges) if isinstance(size, Expression) else number
            for size, number in zip(sizes_of(given.type), meta.shape, strict=True)
        )
    )


def _symbolic_number(given: Any, value: Any, ranges: Ranges) -> Any:
    if isinstance(given, tuple):
        return tuple(
            _symbolic_number(*pair, ranges)
            for pair in zip(cast("tuple[Any, ...]", given), value, strict=True)
        )
    if not isinstance(given, SSAValue):
        return value
    number = cast("SSAValue[Attribute]", given)
    expression = size_of(number)
    if expression is None:
        return value
    # Sizes are not negative, which computed numbers may be.
    least = expression.interval(ranges).least
    if not isinstance(number.owner, SchemaOp) and (least is None or least < 0):
        return value
    return SymbolicSize.of(expression, ranges)
