"""Kernels of the VM that compute what the stock runtime's do where those are wrong.

Run in the place of our own, they must give a program the results that the stock runtime gives it: that is how a fault
is proven, and how a wrong result of the stock runtime is told from a mistake of ours.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from kernel_oracle import registry

from et_schema.scalar_type import ScalarType
from et_vm.kernels.aten.schema import operator as operator_of
from et_vm.kernels.registry import Prepare, PrepareContext, parameters_of
from et_vm.step import Step
from et_vm.values import Tensor

Model = Callable[[Prepare, str, Sequence[Any], Sequence[Tensor]], None]
"""`model(right, operator, inputs, outs)` writes what the stock runtime's kernel writes; `right` is ours."""


def modelled(operator: str, models: Mapping[ScalarType, Model], seen: set[str]) -> Prepare:
    """Our kernel of `operator`, with a model where the first tensor and the result have a type that has one;
    `seen` gets the operator's name when that was so.
    """
    right = registry("portable").lookup(operator, ())
    assert right is not None, operator
    count = len(operator_of(operator).inputs)

    def prepare(ctx: PrepareContext, *arguments: Any) -> Step:
        step = right(ctx, *arguments)  # checks, and gives outputs their shapes
        first = next(value for value in arguments if isinstance(value, Tensor))
        model = models.get(first.scalar_type)
        if model is None or arguments[count].scalar_type not in models:
            return step
        seen.add(operator)
        return model, (right, operator, arguments[:count], arguments[count:])

    prepare.parameters = parameters_of(right)  # type: ignore[attr-defined]
    return prepare


def call(prepare: Prepare, operator: str, inputs: Sequence[Any], outs: Sequence[Tensor]) -> None:
    """Run a kernel at once."""
    function, arguments = prepare(PrepareContext(operator), *inputs, *outs)
    function(*arguments)


def _single(value: Any) -> Any:
    """The argument in float32, where it is of another type: a tensor, or the number of an element type."""
    if isinstance(value, Tensor):
        return Tensor.from_numpy(value.array.astype(np.float32), ScalarType.FLOAT, value.dim_order)
    return value


def in_single(right: Prepare, operator: str, inputs: Sequence[Any], outs: Sequence[Tensor]) -> None:
    """Compute in float32, and convert the results: to an integer by dropping what is behind the point."""
    names = [argument.name for argument in operator_of(operator).inputs]
    given = [
        int(ScalarType.FLOAT) if name == "dtype" and value is not None else _single(value)
        for name, value in zip(names, inputs, strict=True)
    ]
    narrow = [_single(out) for out in outs]
    call(right, operator, given, narrow)
    for out, single in zip(outs, narrow, strict=True):
        out.array[...] = single.array.astype(out.dtype)


def in_single_over_one(right: Prepare, operator: str, inputs: Sequence[Any], outs: Sequence[Tensor]) -> None:
    """Add up in float32 over one dimension; over several as it should be."""
    run = in_single if inputs[1] is not None and len(inputs[1]) == 1 and inputs[0].sizes else call
    run(right, operator, inputs, outs)


def power_in_double(right: Prepare, operator: str, inputs: Sequence[Any], outs: Sequence[Tensor]) -> None:
    """Integer powers as float64 has them, cut to an integer as an x86 processor does: the least of int32, for int64
    of int64, for what does not fit, and of that the low bits.
    """
    base, exponent = (value.array if isinstance(value, Tensor) else value for value in inputs)
    powers = np.power(np.asarray(base, np.float64), np.asarray(exponent, np.float64))
    wide = np.int64 if outs[0].dtype.itemsize == 8 else np.int32
    limits = np.iinfo(wide)
    fits = (powers >= float(limits.min)) & (powers < -float(limits.min))
    whole = np.where(fits, np.where(fits, powers, 0).astype(wide), limits.min)
    outs[0].array[...] = whole.astype(outs[0].dtype)


def bytes_summed_in_bytes(
    right: Prepare, operator: str, inputs: Sequence[Any], outs: Sequence[Tensor]
) -> None:
    """Resample with weights of float32, and cut the sum to an integer at every term."""
    image, _, align, *scales = inputs
    given = scales if all(scale is not None for scale in scales) else []
    heights, widths = (
        _weights(image.sizes[axis], outs[0].sizes[axis], align, given[axis - 2] if given else None)
        for axis in (2, 3)
    )
    total = np.zeros(outs[0].sizes, np.uint8)
    for row in range(image.sizes[2]):
        for column in range(image.sizes[3]):
            element = image.array[:, :, row, column, None, None].astype(np.float32)
            term = element * heights[:, None, row] * widths[None, :, column]
            total[...] = (total + term).astype(np.uint8)
    outs[0].array[...] = total


def _weights(extent: int, size: int, align: bool, scale: float | None) -> np.ndarray[Any, Any]:
    """Share of each of `size` in each of `extent` elements, each step rounded to float32: sums that should be
    whole are just below or above, and which of them, makes a difference of one.
    """
    single = np.float32
    if align:
        step = single((extent - 1) / (size - 1) if size > 1 else 0.0)
    else:
        step = single(1.0 / scale if scale is not None and scale > 0 else extent / size)
    half, one = single(0.5), single(1)
    support = max(step, one)
    weights = np.zeros((size, extent), single)
    for at in range(size):
        centre = step * (single(at) + half)
        first = max(int(centre - support + half), 0)
        last = min(int(centre + support + half), extent)
        places = np.arange(last - first, dtype=single) + single(first) - centre + half
        near = np.maximum(one - np.abs(places * (one / support)), single(0))
        total = single(0)
        for weight in near:
            total += weight
        weights[at, first:last] = near / total
    return weights


def added_to_what_was_there(
    right: Prepare, operator: str, inputs: Sequence[Any], outs: Sequence[Tensor]
) -> None:
    """Add to an output that nobody cleared."""
    before = outs[0].array.copy()
    call(right, operator, inputs, outs)
    outs[0].array[...] = (outs[0].array.astype(np.float64) + before.astype(np.float64)).astype(outs[0].dtype)
