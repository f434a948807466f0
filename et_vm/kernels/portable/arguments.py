"""Checks that many kernels share. Each raises the context's trap, which names the operator, the argument
and what was expected.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TypeVar, cast

import numpy as np

from et_schema.errors import Error
from et_schema.scalar_type import ScalarType, numpy_dtype
from et_vm.kernels.portable.declare import Scalar
from et_vm.kernels.portable.promotion import REDUCED, can_cast, dtype_of, kind
from et_vm.kernels.registry import Prepare, PrepareContext, parameters_of
from et_vm.step import Step
from et_vm.values import Array, Tensor, addresses

_KIND_NAMES = ("bool", "integer", "float", "complex")
BOOL, INTEGER, FLOAT, COMPLEX = range(4)
_SMALL = 127


def describe(tensor: Tensor) -> str:
    """`float32[2, 3]`, for messages."""
    return f"{tensor.scalar_type.torch_name}{list(tensor.sizes)}"


def dimension(ctx: PrepareContext, dim: int, rank: int, *, arg: str = "dim") -> int:
    """`dim` counted from the front. A 0-d tensor has, as in torch, the dimensions 0 and -1."""
    limit = max(rank, 1)
    if not -limit <= dim < limit:
        raise ctx.trap(arg=arg, expected=f"a dimension in [{-limit}, {limit - 1}]", got=dim)
    return dim + limit if dim < 0 else dim


def dimensions(
    ctx: PrepareContext, dims: Sequence[int] | None, rank: int, *, arg: str = "dim", empty_is_all: bool = True
) -> tuple[int, ...]:
    """`dims` counted from the front, without repetition; all of them for None and, if `empty_is_all`,
    for `[]`.
    """
    if dims is None or (not dims and empty_is_all):
        return tuple(range(rank))
    found = [dimension(ctx, dim, rank, arg=arg) for dim in dims]
    if len(set(found)) != len(found):
        raise ctx.trap(arg=arg, expected="distinct dimensions", got=list(dims))
    return tuple(dim for dim in found if dim < rank)


def broadcast(ctx: PrepareContext, *tensors: Tensor) -> tuple[int, ...]:
    """The shape that `tensors` broadcast to."""
    return broadcast_shapes(ctx, *[tensor.sizes for tensor in tensors])


def broadcast_shapes(ctx: PrepareContext, *shapes: Sequence[int]) -> tuple[int, ...]:
    """The shape that `shapes` broadcast to."""
    first = tuple(shapes[0])
    for shape in shapes[1:]:
        if tuple(shape) != first:
            break
    else:
        return first
    result = [1] * max(len(shape) for shape in shapes)
    for shape in shapes:
        offset = len(result) - len(shape)
        for at, size in enumerate(shape, offset):
            if size != 1:
                if result[at] not in (1, size):
                    raise ctx.error(f"shapes {' and '.join(str(list(s)) for s in shapes)} do not broadcast")
                result[at] = size
    return tuple(result)


def check_kinds(ctx: PrepareContext, scalar_type: ScalarType, kinds: Sequence[int], *, arg: str) -> None:
    """`scalar_type` is of one of `kinds`."""
    if kind(scalar_type) not in kinds:
        expected = " or ".join(_KIND_NAMES[k] for k in kinds)
        raise ctx.trap(arg=arg, expected=f"a tensor of {expected} type", got=scalar_type.torch_name)


def check_not_reduced(ctx: PrepareContext, tensor: Tensor, *, arg: str) -> None:
    """`tensor` is of no 16-bit float, for which torch has not this operator."""
    if tensor.scalar_type in REDUCED:
        raise ctx.trap(
            arg=arg, expected="another type than a 16-bit float", got=tensor.scalar_type.torch_name
        )


def check_same_type(ctx: PrepareContext, expected: Tensor, *others: tuple[str, Tensor | None]) -> None:
    """The (name, tensor) pairs `others` have the scalar type of `expected`; None passes."""
    for arg, tensor in others:
        if tensor is not None and tensor.scalar_type != expected.scalar_type:
            raise ctx.trap(arg=arg, expected=expected.scalar_type.torch_name, got=describe(tensor))


def check_out_type(ctx: PrepareContext, result: ScalarType, out: Tensor, *, arg: str = "out") -> None:
    """A result of type `result` may be stored into `out`."""
    if not can_cast(result, out.scalar_type):
        raise ctx.trap(
            arg=arg, expected=f"a type that {result.torch_name} casts to", got=out.scalar_type.torch_name
        )


def check_type(ctx: PrepareContext, scalar_type: ScalarType, tensor: Tensor, *, arg: str) -> None:
    """`tensor` has exactly `scalar_type`."""
    if tensor.scalar_type != scalar_type:
        raise ctx.trap(arg=arg, expected=scalar_type.torch_name, got=describe(tensor))


def check_shape(ctx: PrepareContext, tensor: Tensor, shape: Sequence[int], *, arg: str) -> None:
    """`tensor` has exactly `shape`."""
    if tensor.sizes != tuple(shape):
        raise ctx.trap(arg=arg, expected=f"shape {list(shape)}", got=describe(tensor))


_P = TypeVar("_P", bound=Prepare)


def check_dim_order(prepare: _P) -> _P:
    """Decorate a kernel with arguments `dim_order` and `out`, the last ones: the one is that of the other, or None."""

    @functools.wraps(prepare)
    def checked(ctx: PrepareContext, *arguments: object) -> Step:
        wanted, out = cast("tuple[list[int] | None, Tensor]", arguments[-2:])
        if wanted is not None and tuple(wanted) != out.dim_order:
            raise ctx.trap(arg="out", expected=f"dim order {wanted}", got=list(out.dim_order))
        return prepare(ctx, *arguments)

    checked.parameters = parameters_of(prepare)  # pyright: ignore[reportAttributeAccessIssue] the verifier reads it
    return cast("_P", checked)


def check_memory(ctx: PrepareContext, shape: Sequence[int], itemsize: int, *, arg: str) -> None:
    """An array of `shape`, which is as large as `arg` says, can be addressed. (Whether there is so much memory is
    found out by allocating it.)
    """
    if not addresses(shape, itemsize):
        raise ctx.trap(
            arg=arg,
            expected="a size of less than 2**63 bytes",
            got=f"an array of shape {list(shape)}",
            code=Error.MemoryAllocationFailed,
        )


def constant(value: Scalar, scalar_type: ScalarType) -> Array:
    """`value` as a 0-d array; integers wrap and floats round to `scalar_type` as torch's own casts do."""
    if -_SMALL <= value <= _SMALL:
        # Overflows nothing, so that no warning has to be kept back, which takes longer than the rest.
        number = int(value) if kind(scalar_type) == INTEGER else value
        return np.array(number).astype(numpy_dtype(scalar_type))
    with np.errstate(all="ignore"):
        if isinstance(value, float) and kind(scalar_type) == INTEGER and not -(2.0**63) <= value < 2.0**63:
            return np.array(np.iinfo(numpy_dtype(scalar_type)).min, numpy_dtype(scalar_type))
        if isinstance(value, float) and kind(scalar_type) == INTEGER:
            value = int(value)
        return np.array(value).astype(numpy_dtype(scalar_type))


def checked_constant(ctx: PrepareContext, value: Scalar, scalar_type: ScalarType, *, arg: str) -> Array:
    """`value` as a 0-d array of `scalar_type`; a number that the type cannot hold traps."""
    if not dtype_of(scalar_type).holds(value):
        raise ctx.trap(arg=arg, expected=f"a number that fits {scalar_type.torch_name}", got=value)
    return constant(value, scalar_type)
