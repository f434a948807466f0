"""The primitive operators: arithmetic on scalar registers, sizes, views, and the stacking of loop results.

They belong to the VM, not to a kernel library: they write registers, where kernels write the bytes of
tensors. One table, `PRIMS`. The last argument of each is its output, which is not repeated as in kernel
calls; only those that are `in_place` write the bytes of a tensor, their first argument.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from et_ops.conventions import ET_VIEW
from et_schema.errors import Error, ExecutorchError
from et_schema.program import TensorShapeDynamism
from et_vm.step import Step
from et_vm.values import ListRegister, Tensor

Registers: TypeAlias = list[object]

_INT64_MIN, _INT64_MAX = -(2**63), 2**63 - 1

_INT = frozenset({"Int"})
_DOUBLE = frozenset({"Double"})
_BOOL = frozenset({"Bool"})
_NUMBER = frozenset({"Int", "Double"})
_COMPARABLE = frozenset({"Int", "Double", "Bool"})
_TENSOR = frozenset({"Tensor"})
_INT_LIST = frozenset({"IntList"})


class Prim(NamedTuple):
    """One primitive operator.

    `params` are names and value kinds of the inputs, `result` the kinds that the output register may
    hold afterwards, `make(registers, *indices)` the step for a call whose arguments are those registers.
    One that is `in_place` has no output register: it writes the tensor that is its first input.
    """

    name: str
    params: tuple[tuple[str, frozenset[str]], ...]
    result: frozenset[str]
    synopsis: str
    make: Callable[..., Step]
    in_place: bool = False

    @property
    def arity(self) -> int:
        """Number of arguments of a call."""
        return len(self.params) + (not self.in_place)


def kind_of(value: object) -> str:
    """The value kind (schema table name) of what a register holds."""
    if isinstance(value, Tensor):
        return "Tensor"
    if isinstance(value, bool):
        return "Bool"
    if isinstance(value, int):
        return "Int"
    if isinstance(value, float):
        return "Double"
    if isinstance(value, str):
        return "String"
    if isinstance(value, ListRegister):
        return value.kind
    if isinstance(value, list):
        return "BoolList" if value and isinstance(value[0], bool) else "DoubleList"
    return "Null"


def _wrong_type(expected: str, *values: object) -> ExecutorchError:
    got = ", ".join(map(kind_of, values))
    return ExecutorchError(Error.InvalidType, f"expected {expected}, got {got}")


def _int64(value: Any) -> Any:
    if type(value) is int and not _INT64_MIN <= value <= _INT64_MAX:
        raise ExecutorchError(Error.InvalidArgument, f"{value} does not fit a 64-bit integer")
    return value


def _is_number(value: object) -> bool:
    return type(value) is int or type(value) is float


def _arithmetic(function: Callable[[Any, Any], Any]) -> Callable[[object, object], object]:
    def apply(a: object, b: object) -> object:
        if not (_is_number(a) and _is_number(b)):
            raise _wrong_type("two numbers", a, b)
        return _int64(function(a, b))

    return apply


def _comparison(function: Callable[[Any, Any], bool]) -> Callable[[object, object], object]:
    def apply(a: object, b: object) -> object:
        if not (_is_number(a) and _is_number(b)) and not (type(a) is bool and type(b) is bool):
            raise _wrong_type("two numbers or two bools", a, b)
        return function(a, b)

    return apply


def _integers(function: Callable[[int, int], int]) -> Callable[[object, object], object]:
    def apply(a: object, b: object) -> object:
        if type(a) is not int or type(b) is not int:
            raise _wrong_type("two integers", a, b)
        return _int64(function(a, b))

    return apply


def _require_divisor(b: int) -> None:
    if b == 0:
        raise ExecutorchError(Error.InvalidArgument, "integer division by zero")


def _floor_divide(a: int | float, b: int | float) -> int | float:
    if type(a) is int and type(b) is int:
        _require_divisor(b)
        return a // b
    x, y = float(a), float(b)
    if y == 0.0:
        return math.copysign(math.inf, x)
    if not math.isfinite(x) or math.isnan(y):
        return math.nan
    # Exact but for the last division, like Python's own, whose zeros have other signs.
    remainder = math.fmod(x, y)
    quotient = (x - remainder) / y
    return quotient - 1 if remainder and (remainder < 0) != (y < 0) else quotient


def _truncating_divide(a: int, b: int) -> int:
    _require_divisor(b)
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def _truncating_remainder(a: int, b: int) -> int:
    _require_divisor(b)
    remainder = abs(a) % abs(b)
    return -remainder if a < 0 else remainder


def _true_divide(a: int | float, b: int | float) -> float:
    x, y = float(a), float(b)
    if y != 0.0:
        return x / y
    if x == 0.0 or math.isnan(x):
        return math.nan
    return math.copysign(math.inf, x) * math.copysign(1.0, y)


def _negative(a: object) -> object:
    if not _is_number(a):
        raise _wrong_type("a number", a)
    return _int64(-a)  # pyright: ignore[reportOperatorIssue] a number, as just checked


def _rounding(function: Callable[[float], int]) -> Callable[[object], object]:
    def apply(a: object) -> object:
        if type(a) is not float:
            raise _wrong_type("a double", a)
        return _to_int64(function, a)

    return apply


def _to_int64(function: Callable[[float], int], a: float) -> int:
    if not math.isfinite(a):
        raise ExecutorchError(Error.InvalidArgument, f"{a} has no integer value")
    return int(_int64(function(a)))


def _sym_float(a: object) -> object:
    if not isinstance(a, (int, float)):
        raise _wrong_type("a number or a bool", a)
    return float(a)


def _sym_int(a: object) -> object:
    if isinstance(a, float):
        return _to_int64(math.trunc, a)
    if not isinstance(a, int):
        raise _wrong_type("a number or a bool", a)
    return int(a)


def _not(a: object) -> object:
    if type(a) is not bool:
        raise _wrong_type("a bool", a)
    return not a


def _run_unary(registers: Registers, function: Callable[[object], object], a: int, out: int) -> None:
    registers[out] = function(registers[a])


def _run_binary(
    registers: Registers, function: Callable[[object, object], object], a: int, b: int, out: int
) -> None:
    registers[out] = function(registers[a], registers[b])


def _run_select(registers: Registers, condition: int, a: int, b: int, out: int) -> None:
    chosen = registers[condition]
    if type(chosen) is not bool:
        raise _wrong_type("a bool as condition", chosen)
    x, y = registers[a], registers[b]
    for value in (x, y):
        if not isinstance(value, (int, float)):
            raise _wrong_type("a number or a bool", value)
    registers[out] = x if chosen else y


def tensor_in(registers: Sequence[object], index: int) -> Tensor:
    """The tensor in a register. Raises ExecutorchError(InvalidType) when it holds something else."""
    value = registers[index]
    if not isinstance(value, Tensor):
        raise _wrong_type("a tensor", value)
    return value


def _run_size(registers: Registers, tensor: int, dim: int, out: int) -> None:
    sizes = tensor_in(registers, tensor).sizes
    index = registers[dim]
    if type(index) is not int:
        raise _wrong_type("an integer as dimension", index)
    if not -len(sizes) <= index < len(sizes):
        raise ExecutorchError(
            Error.InvalidArgument, f"dimension {index} of a tensor of rank {len(sizes)} does not exist"
        )
    registers[out] = sizes[index]


def _run_numel(registers: Registers, tensor: int, out: int) -> None:
    registers[out] = tensor_in(registers, tensor).numel


def _run_item(registers: Registers, tensor: int, out: int) -> None:
    source = tensor_in(registers, tensor)
    if source.numel < 1:
        raise ExecutorchError(Error.InvalidArgument, f"a tensor of shape {list(source.sizes)} is empty")
    value = source.array.flat[0].item()
    if source.dtype.kind not in "biuf":
        value = float(value)
    registers[out] = value


def view_sizes(tensor: Tensor, sizes: Sequence[object]) -> tuple[int, ...]:
    """The shape that `et_view` gives: `sizes` with its only -1 worked out.

    Raises ExecutorchError(InvalidArgument) for a shape with other negative sizes or another number of
    elements.
    """
    shape: list[int] = []
    for size in sizes:
        if type(size) is not int:
            raise _wrong_type("integer sizes", size)
        shape.append(size)
    text = f"a tensor of shape {list(tensor.sizes)} cannot be viewed as {shape}"
    free = [dim for dim, size in enumerate(shape) if size == -1]
    if len(free) > 1 or any(size < -1 for size in shape):
        raise ExecutorchError(
            Error.InvalidArgument, f"{text}: at most one size may be -1, and no other negative"
        )
    known = math.prod(size for size in shape if size != -1)
    numel = tensor.numel
    if free:
        if known == 0 or numel % known:
            raise ExecutorchError(Error.InvalidArgument, f"{text}: {numel} elements do not divide by {known}")
        shape[free[0]] = numel // known
    elif known != numel:
        raise ExecutorchError(Error.InvalidArgument, f"{text}: {numel} elements are not {known}")
    return tuple(shape)


def _run_view(registers: Registers, tensor: int, sizes: int, out: int) -> None:
    source, target = tensor_in(registers, tensor), tensor_in(registers, out)
    shape = registers[sizes]
    if not isinstance(shape, ListRegister):
        raise _wrong_type("an integer list as size", shape)
    alias(source, target, view_sizes(source, shape.read(registers)))


def alias(source: Tensor, target: Tensor, sizes: tuple[int, ...]) -> None:
    """Make `target` a view of shape `sizes` on the bytes of `source`; a no-op when it is one already.

    Raises ExecutorchError: InvalidArgument for different element types or layouts that are not both
    contiguous, NotSupported for a shape that `target` cannot take, InvalidState for a source without
    data.
    """
    if source.dtype != target.dtype:
        raise ExecutorchError(
            Error.InvalidArgument,
            f"a {source.scalar_type.name} tensor cannot be viewed as {target.scalar_type.name}",
        )
    storage = source.storage
    if storage is None:
        raise ExecutorchError(
            Error.InvalidState, "a tensor without data cannot be viewed", where=source.name or None
        )
    for tensor in (source, target):
        if tensor.dim_order != tuple(range(len(tensor.dim_order))) and source.sizes != sizes:
            raise ExecutorchError(
                Error.InvalidArgument, "only contiguous tensors can be viewed in another shape"
            )
    if target.storage is storage and target.sizes == sizes:
        return
    target.check_shape(sizes)
    target.bind(storage, sizes)


def _run_copy_index(registers: Registers, to: int, source: int, index: int) -> None:
    target, item = tensor_in(registers, to), tensor_in(registers, source)
    if target.storage is not None and not target.storage.flags.writeable:
        raise ExecutorchError(Error.InvalidArgument, f"{target} has the bytes of a constant")
    at = registers[index]
    if type(at) is not int:
        raise _wrong_type("an integer as index", at)
    if (
        target.dtype != item.dtype
        or len(target.sizes) != len(item.sizes) + 1
        or target.sizes[1:] != item.sizes
    ):
        raise ExecutorchError(
            Error.InvalidArgument,
            f"{item!r} is not an item of {target!r}",
        )
    if at < 0:
        raise ExecutorchError(Error.InvalidArgument, f"index {at} is negative")
    if target.dynamism != TensorShapeDynamism.STATIC:
        # A loop fills the tensor from the front; what is left from a longer run before must go.
        kept = target.array if target.has_data else None
        target.resize((at + 1, *target.sizes[1:]))
        if kept is not None and not np.may_share_memory(kept, target.array):
            np.copyto(target.array[: min(at, len(kept))], kept[: min(at, len(kept))])
    elif at >= target.sizes[0]:
        raise ExecutorchError(
            Error.NotSupported, f"index {at} is outside of a static tensor of {target.sizes[0]} items"
        )
    np.copyto(target.array[at, ...], item.array)  # an array also where the item is a number


def _unary(
    name: str,
    param: frozenset[str],
    result: frozenset[str],
    synopsis: str,
    function: Callable[[object], object],
) -> Prim:
    def make(registers: Registers, a: int, out: int) -> Step:
        return _run_unary, (registers, function, a, out)

    return Prim(f"executorch_prim::{name}", (("a", param),), result, synopsis, make)


def _binary(
    name: str,
    param: frozenset[str],
    result: frozenset[str],
    synopsis: str,
    function: Callable[[object, object], object],
) -> Prim:
    def make(registers: Registers, a: int, b: int, out: int) -> Step:
        return _run_binary, (registers, function, a, b, out)

    return Prim(f"executorch_prim::{name}", (("a", param), ("b", param)), result, synopsis, make)


def _direct(
    name: str,
    params: tuple[tuple[str, frozenset[str]], ...],
    result: frozenset[str],
    synopsis: str,
    run: Callable[..., None],
    *,
    in_place: bool = False,
) -> Prim:
    def make(registers: Registers, *indices: int) -> Step:
        return run, (registers, *indices)

    return Prim(name, params, result, synopsis, make, in_place)


FROM_DATA = frozenset({"aten::_local_scalar_dense", "executorch_prim::et_copy_index.tensor"})
"""Those whose results depend on the elements of tensors, and not on sizes and numbers alone."""

PRIMS: dict[str, Prim] = {
    prim.name: prim
    for prim in (
        _direct(
            "aten::sym_size.int",
            (("self", _TENSOR), ("dim", _INT)),
            _INT,
            "out = current size of dimension dim of self",
            _run_size,
        ),
        _direct(
            "aten::sym_numel",
            (("self", _TENSOR),),
            _INT,
            "out = current number of elements of self",
            _run_numel,
        ),
        _direct(
            "aten::_local_scalar_dense",
            (("self", _TENSOR),),
            _COMPARABLE,
            "out = first element of self",
            _run_item,
        ),
        _binary("add.Scalar", _NUMBER, _NUMBER, "out = a + b", _arithmetic(operator.add)),
        _binary("sub.Scalar", _NUMBER, _NUMBER, "out = a - b", _arithmetic(operator.sub)),
        _binary("mul.Scalar", _NUMBER, _NUMBER, "out = a * b", _arithmetic(operator.mul)),
        _binary(
            "floordiv.Scalar",
            _NUMBER,
            _NUMBER,
            "out = floor(a / b); a double divided by zero is ±inf with the sign of a",
            _arithmetic(_floor_divide),
        ),
        _binary(
            "floordiv.int", _INT, _INT, "out = a / b rounded towards zero", _integers(_truncating_divide)
        ),
        _binary(
            "mod.int",
            _INT,
            _INT,
            "out = remainder of a / b with the sign of a",
            _integers(_truncating_remainder),
        ),
        _binary(
            "mod.Scalar",
            _INT,
            _INT,
            "out = remainder of a / b with the sign of a",
            _integers(_truncating_remainder),
        ),
        _binary("truediv.Scalar", _NUMBER, _DOUBLE, "out = a / b as doubles", _arithmetic(_true_divide)),
        _binary("eq.Scalar", _COMPARABLE, _BOOL, "out = a == b", _comparison(operator.eq)),
        _binary("gt.Scalar", _COMPARABLE, _BOOL, "out = a > b", _comparison(operator.gt)),
        _binary("lt.Scalar", _COMPARABLE, _BOOL, "out = a < b", _comparison(operator.lt)),
        _binary("ge.Scalar", _COMPARABLE, _BOOL, "out = a >= b", _comparison(operator.ge)),
        _binary("le.Scalar", _COMPARABLE, _BOOL, "out = a <= b", _comparison(operator.le)),
        _unary("neg.Scalar", _NUMBER, _NUMBER, "out = -a", _negative),
        _unary("sym_float.Scalar", _COMPARABLE, _DOUBLE, "out = a as a double", _sym_float),
        _unary("sym_int.Scalar", _COMPARABLE, _INT, "out = a rounded towards zero", _sym_int),
        _unary("sym_not.Scalar", _BOOL, _BOOL, "out = not a", _not),
        _binary("sym_max.Scalar", _INT, _INT, "out = the larger of a and b", _integers(max)),
        _binary("sym_min.Scalar", _INT, _INT, "out = the smaller of a and b", _integers(min)),
        _direct(
            "executorch_prim::sym_ite.Scalar",
            (("condition", _BOOL), ("a", _COMPARABLE), ("b", _COMPARABLE)),
            _COMPARABLE,
            "out = a if condition else b",
            _run_select,
        ),
        _unary("ceil.Scalar", _DOUBLE, _INT, "out = a rounded up", _rounding(math.ceil)),
        _unary("trunc.Scalar", _DOUBLE, _INT, "out = a rounded towards zero", _rounding(math.trunc)),
        _unary("round.Scalar", _DOUBLE, _INT, "out = a rounded to nearest, ties to even", _rounding(round)),
        _direct(
            "executorch_prim::et_copy_index.tensor",
            (("to", _TENSOR), ("from", _TENSOR), ("index", _INT)),
            _TENSOR,
            "to[index] = from; the first dimension of a dynamic to becomes index + 1",
            _run_copy_index,
            in_place=True,
        ),
        _direct(
            ET_VIEW,
            (("self", _TENSOR), ("size", _INT_LIST)),
            _TENSOR,
            "out shares the bytes of self in the shape size, one of which may be -1",
            _run_view,
        ),
    )
}
