"""Element types that kernels store and do not compute in: float8, quantized."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pytest

from et_schema.errors import Error, Trap
from et_schema.scalar_type import ScalarType, numpy_dtype
from et_vm.kernels.libraries import load_library
from et_vm.kernels.portable.declare import KERNELS, STORED
from et_vm.kernels.portable.steps import run
from et_vm.kernels.registry import PrepareContext, parameters_of
from et_vm.values import Tensor
from et_vm.verify.tensors import HELD_TYPES

PORTABLE = load_library("portable")
X = np.array([[0, 1, 2], [-3, 4, 6]], np.float32)
ROWS = np.array([1, 0, 1])
MASK = np.array([[True, False, True], [False, True, True]])

MOVES: dict[str, tuple[list[Any], Any]] = {
    "aten::clone.out": ([X, None], X),
    "aten::copy.out": ([X, X[::-1], False], X[::-1]),
    "aten::cat.out": ([[X, X], 0], np.concatenate([X, X])),
    "aten::stack.out": ([[X, X], 0], np.stack([X, X])),
    "aten::repeat.out": ([X, [2, 1]], np.tile(X, (2, 1))),
    "aten::flip.out": ([X, [1]], X[:, ::-1]),
    "aten::roll.out": ([X, [1], [1]], np.roll(X, 1, 1)),
    "aten::constant_pad_nd.out": ([X, [1, 0], 3.0], np.pad(X, [(0, 0), (1, 0)], constant_values=3)),
    "aten::tril.out": ([X, 0], np.tril(X)),
    "aten::reflection_pad1d.out": ([X, [1, 1]], np.pad(X, [(0, 0), (1, 1)], "reflect")),
    "aten::view_copy.out": ([X, [3, 2]], X.reshape(3, 2)),
    "aten::permute_copy.out": ([X, [1, 0]], X.T),
    "aten::expand_copy.out": ([X, [2, 2, 3], False], np.stack([X, X])),
    "aten::slice_copy.Tensor_out": ([X, 1, 1, 3, 1], X[:, 1:3]),
    "aten::index_select.out": ([X, 0, ROWS], X[ROWS]),
    "aten::embedding.out": ([X, ROWS, -1, False, False], X[ROWS]),
    "aten::gather.out": ([X, 1, np.array([[2], [0]]), False], np.array([[2], [-3]])),
    "aten::index.Tensor_out": ([X, [ROWS]], X[ROWS]),
    "aten::masked_select.out": ([X, MASK], X[MASK]),
    "aten::masked_scatter.out": ([X, MASK, X], np.array([[0, 1, 1], [-3, 2, -3]])),
    "aten::masked_fill.Scalar_out": ([X, MASK, 8], np.where(MASK, 8, X)),
    "aten::where.self_out": ([MASK, X, X[:1]], np.where(MASK, X, X[:1])),
    "aten::select_scatter.out": ([X, X[1], 0, 0], np.stack([X[1], X[1]])),
    "aten::slice_scatter.out": ([X, X[:1], 0, 1, 2, 1], np.concatenate([X[:1], X[:1]])),
    "aten::scatter.value_out": ([X, 1, np.array([[0], [1]]), 8], np.array([[8, 1, 2], [-3, 8, 6]])),
    "aten::full_like.out": ([X, 3, None], np.full((2, 3), 3)),
}
"""Arguments and results of operators that move elements."""


@pytest.mark.parametrize("scalar_type", sorted(one for one in STORED if one.is_floating))
@pytest.mark.parametrize("name", MOVES)
def test_moves(name: str, scalar_type: ScalarType) -> None:
    dtype: Any = numpy_dtype(scalar_type)

    def given(value: Any) -> Any:
        if isinstance(value, list):
            return [given(item) for item in cast("list[Any]", value)]
        if not isinstance(value, np.ndarray):
            return value
        array = cast("Any", value)
        if array.dtype == np.float32:
            return Tensor.from_numpy(array.astype(dtype), scalar_type)
        return Tensor.from_numpy(array, ScalarType.BOOL if array.dtype == bool else ScalarType.LONG)

    arguments, expected = MOVES[name]
    out = Tensor.from_numpy(np.full(np.shape(expected), 7, np.float32).astype(dtype), scalar_type)
    prepare = PORTABLE.registered(name)
    assert prepare is not None
    run([prepare(PrepareContext(name), *map(given, arguments), out)])
    np.testing.assert_array_equal(out.array.astype(np.float32), expected)


@pytest.mark.parametrize("scalar_type", sorted(STORED & HELD_TYPES))
def test_kernels_that_compute(scalar_type: ScalarType) -> None:
    """Each refuses a tensor of these types as each of its arguments, before it looks at the others."""
    x = Tensor.from_numpy(np.ones(1, numpy_dtype(scalar_type)), scalar_type)
    message = f"an element type that kernels compute in, got {scalar_type.torch_name}"
    refused: set[str] = set()
    for name in PORTABLE.names():
        prepare = PORTABLE.registered(name)
        assert prepare is not None
        if name not in KERNELS:
            continue  # numbers of the program
        params = parameters_of(prepare)
        assert params is not None
        for at, param in enumerate(params):
            if not param.kinds & {"Tensor", "TensorList"}:
                continue
            arguments: list[Any] = [None] * len(params)
            arguments[at] = x if "Tensor" in param.kinds else [x]
            with pytest.raises(Exception) as caught:  # noqa: PT011, PT012  moves fail at the other arguments
                prepare(PrepareContext(name), *arguments)
                raise AssertionError
            if message in str(caught.value):
                assert isinstance(caught.value, Trap)
                assert caught.value.code is Error.InvalidArgument
                refused.add(name)
    assert not refused & MOVES.keys()
    assert len(refused) > 400
    assert {"aten::avg_pool2d.out", "aten::add.out", "aten::index_put_", "aten::convolution.out"} <= refused
