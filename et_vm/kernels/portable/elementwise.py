"""Elementwise computation over broadcast operands, a cache-sized block at a time.

A *body* lists the numpy calls that compute one block. Blocks keep a chain of calls inside the L2 cache and
the temporaries small: softplus of a 5 MB tensor touches main memory twice, not a dozen times. Operands that
are not of the computing type are converted block by block, and so is the result when `out` has another
type.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from et_schema.scalar_type import ScalarType, numpy_dtype
from et_vm.kernels.portable.arguments import broadcast, check_out_type, check_type
from et_vm.kernels.portable.steps import NOTHING, call, cast, chain, overlaps, run, same_view
from et_vm.kernels.registry import PrepareContext
from et_vm.step import Step
from et_vm.values import Array, DType, Tensor

Body: TypeAlias = Callable[[Sequence[Array], Array, Sequence[Array]], Sequence[Step]]
"""`body(inputs, out, temporaries)`: the calls that compute `out` from `inputs`, all of one shape up
to broadcasting. `out` never overlaps an input unless there is exactly one call.
"""

Index: TypeAlias = tuple[Any, ...]
"""A numpy index."""

BLOCK = 1 << 15
"""Elements per block: 128 KiB of float32, so that half a dozen operands share an L2 cache."""


def apply(ufunc: Callable[..., object]) -> Body:
    """The body that is one call of `ufunc`."""
    return lambda inputs, out, temporaries: [call(ufunc, *inputs, out)]


def whole(function: Callable[..., Array]) -> Body:
    """The body that is one call of a function that allocates its result."""

    def store(inputs: Sequence[Array], out: Array) -> None:
        np.copyto(out, function(*inputs), "unsafe")

    return lambda inputs, out, temporaries: [(store, (tuple(inputs), out))]


def elementwise(
    ctx: PrepareContext,
    inputs: Sequence[Tensor | Array],
    out: Tensor,
    body: Body,
    *,
    compute: ScalarType | Sequence[ScalarType],
    result: ScalarType | None = None,
    temporaries: Sequence[DType] | int = 0,
    promoted: ScalarType | None = None,
    exact: bool = False,
) -> Step:
    """The step that computes `body` over the broadcast `inputs` into `out`, which is resized to their
    shape.

    `compute`: the type the inputs are converted to, or one for each; 0-d arrays among the inputs are
    constants that have it already. `result`: the type that `body` writes (default the last
    `compute`). `promoted`: the type torch's promotion gives the result (default `result`), which must
    cast to `out`, or be its type if the kernel is `exact`. `temporaries`: their dtypes, or how many of
    type `result`. Scratch: a block for each temporary, each input and output that needs a conversion, and
    an output that is also an input.
    """
    types = [compute] * len(inputs) if isinstance(compute, ScalarType) else list(compute)
    written = types[-1] if result is None else result
    check_result = check_type if exact else check_out_type
    check_result(ctx, written if promoted is None else promoted, out, arg="out")
    out.resize(broadcast(ctx, *[operand for operand in inputs if isinstance(operand, Tensor)]))
    target = numpy_dtype(written)
    if not temporaries and out.scalar_type == written and out.array.size:
        plain = _unconverted(inputs, types)
        calls = () if plain is None else body(plain, out.array, ())
        if len(calls) == 1:
            return chain(calls)
    dtypes = [numpy_dtype(scalar_type) for scalar_type in types]
    arrays: list[Array] = []
    for at, (operand, dtype) in enumerate(zip(inputs, dtypes, strict=True)):
        if not isinstance(operand, Tensor):
            arrays.append(operand)
        elif operand.constant and operand.dtype != dtype:
            arrays.append(
                ctx.memo((at, operand.version), functools.partial(_converted, operand.array, dtype))
            )
        else:
            arrays.append(operand.array)
    return compute_blocks(
        ctx,
        arrays,
        out.array,
        body,
        compute=dtypes,
        result=target,
        temporaries=[target] * temporaries if isinstance(temporaries, int) else list(temporaries),
        dim_order=out.dim_order,
    )


def _unconverted(inputs: Sequence[Tensor | Array], types: Sequence[ScalarType]) -> list[Array] | None:
    """The arrays of the inputs, if each of them has the type it is computed in."""
    arrays: list[Array] = []
    for operand, scalar_type in zip(inputs, types, strict=True):
        if not isinstance(operand, Tensor):
            arrays.append(operand)
        elif operand.scalar_type == scalar_type:
            arrays.append(operand.array)
        else:
            return None
    return arrays


def _converted(array: Array, dtype: DType) -> Array:
    ctx = PrepareContext("convert")
    converted = np.empty(array.shape, dtype)
    run(cast(ctx, array, converted))
    return converted


def compute_blocks(
    ctx: PrepareContext,
    inputs: Sequence[Array],
    out: Array,
    body: Body,
    *,
    compute: Sequence[DType],
    result: DType,
    temporaries: Sequence[DType] = (),
    dim_order: Sequence[int] | None = None,
) -> Step:
    """`elementwise` on arrays: each input is converted to its type in `compute`, and `out` has
    the broadcast shape.

    `dim_order` is the order of the axes of `out` in memory.
    """
    if out.size == 0:
        return NOTHING
    converts = out.dtype != result or any(
        array.dtype != dtype for array, dtype in zip(inputs, compute, strict=True)
    )
    if not converts and not temporaries:
        calls = body(inputs, out, ())
        if len(calls) == 1 or (out.size <= BLOCK and not any(overlaps(array, out) for array in inputs)):
            return chain(calls)
    order = range(out.ndim) if dim_order is None else dim_order
    prologue: list[Step] = []
    views: list[Array] = []
    for array, dtype in zip(inputs, compute, strict=True):
        operand = array
        if operand.dtype != dtype and operand.size < out.size:
            converted = ctx.scratch(operand.shape, dtype)
            prologue += cast(ctx, operand, converted)
            operand = converted
        views.append(_physical(operand, out, order))
    target = out.transpose(tuple(order))
    hazard = False
    whole = False
    for view, array in zip(views, inputs, strict=True):
        if overlaps(array, out):
            hazard = True
            whole = whole or not same_view(view, target)
    *views, target = _coalesce([*views, target])
    pieces: list[Index] = [(...,)] if whole else _blocks(target.shape, BLOCK)
    largest = out.size if whole else min(out.size, BLOCK)
    bring = [
        ctx.scratch(largest, dtype) if view.dtype != dtype else None
        for view, dtype in zip(views, compute, strict=True)
    ]
    own = ctx.scratch(largest, result) if hazard or out.dtype != result else None
    temps = [ctx.scratch(largest, kind) for kind in temporaries]
    calls = list(prologue)
    for piece in pieces:
        target_piece: Array = target[piece]
        shape, size = target_piece.shape, target_piece.size
        operands: list[Array] = []
        for view, buffer in zip(views, bring, strict=True):
            source: Array = view[piece] if view.ndim else view
            if buffer is not None:
                converted = buffer[:size].reshape(shape)
                calls += cast(ctx, source, converted)
                source = converted
            operands.append(source)
        block_out = target_piece if own is None else own[:size].reshape(shape)
        calls += body(operands, block_out, [temp[:size].reshape(shape) for temp in temps])
        if own is not None:
            calls += cast(ctx, block_out, target_piece)
    return chain(calls)


def _physical(array: Array, out: Array, order: Sequence[int]) -> Array:
    """`array` broadcast to the shape of `out`, its axes in the order `out` has in memory; a single
    element stays 0-d.
    """
    if array.size == 1:
        return array.reshape(())
    if array.shape != out.shape:
        array = np.broadcast_to(array, out.shape)
    return array.transpose(tuple(order))


def _coalesce(views: Sequence[Array]) -> list[Array]:
    """Merge neighbouring axes wherever every view allows it without a copy. The last view has the full
    shape.
    """
    full = views[-1]
    shape = full.shape
    merged: list[int] = []
    for axis in range(full.ndim):
        size = shape[axis]
        if size == 1:
            continue
        if merged and all(
            view.ndim == 0 or _previous_stride(view, shape, axis) == view.strides[axis] * size
            for view in views
        ):
            merged[-1] *= size
        else:
            merged.append(size)
    return [view if view.ndim == 0 and full.ndim else view.reshape(merged) for view in views]


def _previous_stride(view: Array, shape: Sequence[int], axis: int) -> int:
    previous = axis - 1
    while shape[previous] == 1:
        previous -= 1
    return view.strides[previous]


def _blocks(shape: Sequence[int], limit: int) -> list[Index]:
    """Index tuples that tile an array of `shape` into blocks of at most `limit` elements, in memory
    order.
    """
    if math.prod(shape) <= limit:
        return [(...,)]
    inner = math.prod(shape[1:])
    if inner <= limit:
        rows = limit // inner
        return [(slice(at, at + rows),) for at in range(0, shape[0], rows)]
    rest = _blocks(shape[1:], limit)
    return [(slice(at, at + 1), *piece) for at in range(shape[0]) for piece in rest]
