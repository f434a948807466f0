"""Steps that compute whole arrays and store them: for operators that spend their time in the computation and
not in the copy of its results.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from et_schema.scalar_type import numpy_dtype
from et_vm.kernels.portable.promotion import arithmetic
from et_vm.step import Step, resizing
from et_vm.values import Array, DType, Tensor

Compute: TypeAlias = Callable[..., "Array | Sequence[Array]"]
"""From arrays to the results, in arrays that it allocates or in views of its arguments."""


def wide(tensor: Tensor) -> DType:
    """The type that the arithmetic on `tensor` is done in: float32 for the 16-bit floats."""
    return numpy_dtype(arithmetic(tensor.scalar_type))


def evaluated(
    compute: Compute, inputs: Sequence[Tensor], outs: Sequence[Tensor], dtype: DType | None = None
) -> Step:
    """The step that stores what `compute` makes of `inputs` into `outs`, which have their shapes.

    The inputs are converted to `dtype`, by default each to the type of its arithmetic; `compute` must not
    write to them. Allocates the converted inputs, the results, and whatever `compute` does.
    """
    dtypes = tuple(wide(tensor) if dtype is None else dtype for tensor in inputs)
    return _evaluate, (
        compute,
        tuple(tensor.array for tensor in inputs),
        dtypes,
        tuple(out.array for out in outs),
    )


def _converted(arrays: Sequence[Array], dtypes: Sequence[DType]) -> list[Array]:
    return [array.astype(dtype, copy=False) for array, dtype in zip(arrays, dtypes, strict=True)]


def _results(compute: Compute, arrays: Sequence[Array], dtypes: Sequence[DType]) -> Sequence[Array]:
    made = compute(*_converted(arrays, dtypes))
    return (made,) if isinstance(made, np.ndarray | np.generic) else made


def _evaluate(
    compute: Compute, arrays: Sequence[Array], dtypes: Sequence[DType], targets: Sequence[Array]
) -> None:
    for target, result in zip(targets, _results(compute, arrays, dtypes), strict=True):
        np.copyto(target, result, "unsafe")


def evaluated_to_size(
    compute: Compute, inputs: Sequence[Tensor], outs: Sequence[Tensor], dtype: DType | None = None
) -> Step:
    """`evaluated` for results whose shapes depend on the data: the step resizes `outs`, all of them
    before any is written.
    """
    dtypes = tuple(wide(tensor) if dtype is None else dtype for tensor in inputs)
    return _evaluate_to_size, (compute, tuple(tensor.array for tensor in inputs), dtypes, tuple(outs))


@resizing
def _evaluate_to_size(
    compute: Compute, arrays: Sequence[Array], dtypes: Sequence[DType], outs: Sequence[Tensor]
) -> None:
    results = _results(compute, arrays, dtypes)
    for out, result in zip(outs, results, strict=True):
        out.resize(result.shape)
    for out, result in zip(outs, results, strict=True):
        np.copyto(out.array, result, "unsafe")
