"""Shape and function lookup of the generic kernel."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest
import torch

from et_schema.errors import ExecutorchError, Trap
from et_schema.program import TensorShapeDynamism
from et_schema.scalar_type import ScalarType, numpy_dtype
from et_vm.kernels.libraries import load_library
from et_vm.kernels.registry import PrepareContext
from et_vm.step import NOTHING, Step
from et_vm.values import Tensor


def _tensor(*shape: int, scalar_type: ScalarType = ScalarType.FLOAT, constant: bool = False) -> Tensor:
    values = np.random.default_rng(0).standard_normal(shape) * 10
    return Tensor.from_numpy(np.asarray(values), scalar_type, constant=constant)


def _prepare(operator: str, *arguments: object) -> Step:
    prepare = load_library("aten").lookup(operator, ())
    assert prepare is not None
    return prepare(PrepareContext(operator), *arguments)


def _function(step: Step) -> Any:
    fn, _ = step
    assert isinstance(fn, functools.partial)
    return fn.func


def test_executions_run_in_inference_mode() -> None:
    with load_library("aten").guard():
        assert torch.is_inference_mode_enabled()


def test_quick_functions_are_used_where_they_lead_to_the_overload() -> None:
    a, b, out = _tensor(2, 3), _tensor(3), _tensor(2, 3)
    assert _function(_prepare("aten::add.out", a, b, 1, out)) is torch.add
    assert _function(_prepare("aten::hardtanh.out", a, -1, 1, out)) is torch._C._nn.hardtanh
    assert (
        _function(_prepare("aten::topk.values", a, 2, -1, True, True, _tensor(2, 2), _longs(2, 2)))
        is torch.topk
    )
    # torch.roll has no out argument.
    assert _function(_prepare("aten::roll.out", a, [1], [0], out)) is torch.ops.aten.roll.out


def _longs(*shape: int) -> Tensor:
    return _tensor(*shape, scalar_type=ScalarType.LONG)


def test_shapes_are_inferred_before_memory_is_bound() -> None:
    storage = np.zeros(400, np.uint8)
    out = Tensor(ScalarType.FLOAT, (10, 10), storage=storage, dynamism=TensorShapeDynamism.DYNAMIC_BOUND)
    _prepare("aten::mm.out", _tensor(2, 3), _tensor(3, 4), out)
    assert out.sizes == (2, 4)


def test_torchs_complaints_are_traps() -> None:
    """Of operators without a portable kernel and without a shape rule; the others have their messages."""
    with pytest.raises(Trap, match=r"(?s)broadcast.*aten::dist\.out"):
        _prepare("aten::dist.out", _tensor(2), _tensor(3), 2, _tensor())
    with pytest.raises(Trap, match=r"(?s)'vec': expected 3 elements.*aten::addmv\.out"):
        _prepare("aten::addmv.out", _tensor(2), _tensor(2, 3), _tensor(4), 1, 1, _tensor(2))
    with pytest.raises(Trap, match="'mat2': expected 3 rows"):
        _prepare("aten::mm.out", _tensor(2, 3), _tensor(4, 5), _tensor(2, 5))
    with pytest.raises(Trap):
        _prepare("aten::permute_copy.out", _tensor(2, 3), [0, 0], _tensor(2, 3))


def test_views_of_the_same_memory_are_nothing() -> None:
    source = _tensor(2, 6)
    out = Tensor(ScalarType.FLOAT, (3, 4), storage=source.storage)
    assert _prepare("aten::view_copy.out", source, [3, 4], out) is NOTHING
    assert _prepare("aten::alias_copy.out", source, source) is NOTHING
    assert _prepare("aten::view_copy.out", _tensor(0, 6), [0, 2], _tensor(0, 2)) is NOTHING


def test_a_large_constant_is_rearranged_once() -> None:
    weight, out = _tensor(80, 100, constant=True), _tensor(100, 80)
    memo: dict[object, object] = {}
    prepare = load_library("aten").lookup("aten::t_copy.out", ())
    assert prepare is not None
    for _ in range(2):
        fn, args = prepare(PrepareContext("aten::t_copy.out", memo=memo), weight, out)
        with torch.inference_mode():
            fn(*args)
        np.testing.assert_array_equal(out.array, weight.array.T)
    assert len(memo) == 1


def test_pointwise_convolution_is_a_product() -> None:
    image, weight, bias, out = _tensor(1, 8, 5, 5), _tensor(6, 8, 1, 1), _tensor(6), _tensor(1, 6, 5, 5)
    arguments = (image, weight, bias, [1, 1], [0, 0], [1, 1], False, [0, 0], 1, out)
    _, args = _prepare("aten::convolution.out", *arguments)
    product = args[0]
    assert isinstance(product, functools.partial)
    assert product.func is torch.mm


def _convolve(
    image: Tensor, weight: Tensor, out: Tensor, memo: dict[object, object], groups: int = 1
) -> None:
    bias = _tensor(weight.sizes[0])
    prepare = load_library("aten").lookup("aten::convolution.out", ())
    assert prepare is not None
    arguments = (image, weight, bias, [2, 1], [1, 1], [1, 1], False, [0, 0], groups, out)
    fn, args = prepare(PrepareContext("aten::convolution.out", memo=memo), *arguments)
    x, w, b = (torch.from_numpy(tensor.array.copy()) for tensor in (image, weight, bias))
    with torch.inference_mode():
        fn(*args)
        wanted = torch.convolution(x, w, b, [2, 1], [1, 1], [1, 1], False, [0, 0], groups)
    # Sums in another order: off by a few units in the last place of their largest terms.
    np.testing.assert_allclose(out.array, wanted.numpy(), rtol=1e-5, atol=1e-6 * float(wanted.abs().max()))


@pytest.mark.parametrize("groups", [1, 2])
def test_weights_that_outnumber_the_results_are_packed_once(groups: int) -> None:
    image, out = _tensor(1, 64, 7, 7), _tensor(1, 64, 4, 7)
    weight = _tensor(64, 64 // groups, 3, 3, constant=True)
    memo: dict[object, object] = {}
    for _ in range(2):
        _convolve(image, weight, out, memo, groups)
    assert len(memo) == int(torch.backends.mkldnn.is_available())


@pytest.mark.parametrize(("constant", "size"), [(False, 7), (True, 70)])
def test_other_weights_stay_as_they_are(constant: bool, size: int) -> None:
    image, weight = _tensor(1, 64, size, size), _tensor(64, 64, 3, 3, constant=constant)
    memo: dict[object, object] = {}
    _convolve(image, weight, _tensor(1, 64, (size + 1) // 2, size), memo)
    assert not memo


def _run(operator: str, *arguments: object) -> None:
    fn, args = _prepare(operator, *arguments)
    with torch.inference_mode():
        fn(*args)


def _indices(*values: int) -> Tensor:
    return Tensor.from_numpy(np.array(values), ScalarType.LONG)


@pytest.mark.parametrize(
    ("operator", "results"),
    [
        ("aten::searchsorted.Tensor_out", [ScalarType.INT]),
        ("aten::gather.out", [ScalarType.LONG]),
        ("aten::embedding.out", [ScalarType.FLOAT]),
        ("aten::sort.values_stable", [ScalarType.LONG, ScalarType.LONG]),
    ],
)
def test_results_in_the_bytes_of_indices(operator: str, results: list[ScalarType]) -> None:
    """They are written when the kernel has done with the indices, which it checks once and reads more often."""

    def run(apart: bool) -> list[Any]:
        index = _indices(5, 4, 3, 2, 1, 0)
        sequence = Tensor.from_numpy(np.arange(6.0)[::-1], ScalarType.FLOAT)
        table = Tensor.from_numpy(np.arange(6.0).reshape(6, 1) * 1e9, ScalarType.FLOAT)
        arguments: dict[str, tuple[object, ...]] = {
            "aten::searchsorted.Tensor_out": (sequence, sequence, True, False, None, index),
            "aten::gather.out": (index, 0, index, False),
            "aten::embedding.out": (table, index, -1, False, False),
            "aten::sort.values_stable": (index, False, 0, False),
        }
        shape = (6, 1) if operator == "aten::embedding.out" else (6,)
        storage = None if apart else index.storage
        outs = [
            Tensor(kind, shape, storage=np.zeros(48, np.uint8) if storage is None else storage)
            for kind in results
        ]
        _run(operator, *arguments[operator], *outs)
        return [out.array.tolist() for out in outs]

    together, alone = run(False), run(True)
    assert together[-1] == alone[-1]


@pytest.mark.parametrize(
    "operator", ["aten::index_copy_", "aten::index_add_", "aten::scatter_.src", "aten::put_"]
)
def test_operands_that_are_written_in_place(operator: str) -> None:
    def run(own: Tensor, index: Tensor) -> list[int]:
        source = _indices(9, 8, 7, 6)
        arguments: dict[str, tuple[object, ...]] = {
            "aten::index_copy_": (0, index, source),
            "aten::index_add_": (0, index, source, 1),
            "aten::scatter_.src": (0, index, source),
            "aten::put_": (index, source, False),
        }
        _run(operator, own, *arguments[operator])
        return own.array.tolist()

    own = _indices(3, 2, 1, 0)
    assert run(own, own) == run(_indices(3, 2, 1, 0), _indices(3, 2, 1, 0))


def test_results_that_torch_would_allocate_before_their_shape_is_known() -> None:
    """Torch has no shape rule of this operator, the library has."""
    with pytest.raises(
        ExecutorchError, match=r"cannot resize a tensor of shape \[2, 3, 4\] to \[2, 3, 2147483647\]"
    ):
        _prepare("aten::adaptive_avg_pool2d.out", _tensor(2, 3, 4), [3, 2**31 - 1], _tensor(2, 3, 4))


@pytest.mark.parametrize("in_place", [False, True])
@pytest.mark.parametrize("kind", [ScalarType.LONG, ScalarType.INT])
def test_quotients_that_integers_do_not_hold(kind: ScalarType, in_place: bool) -> None:
    """Processors of x86 end the process."""
    least = np.iinfo(numpy_dtype(kind)).min

    def run(divisor: int) -> list[int]:
        own, out = (Tensor.from_numpy(np.array([least, 7]), kind) for _ in range(2))
        other = Tensor.from_numpy(np.array([divisor, -1]), kind)
        arguments = ("aten::div_.Tensor_mode",) if in_place else ("aten::div.out_mode", out)
        _run(arguments[0], own, other, "trunc", *arguments[1:])
        return (own if in_place else out).array.tolist()

    with pytest.raises(Trap, match=f"'other': expected divisors other than -1 of {least}"):
        run(-1)
    assert run(1) == [least, -7]


@pytest.mark.parametrize(
    ("operator", "numbers"),
    [("aten::bincount.out", (None, 2**40)), ("aten::repeat_interleave.Tensor_out", (None,))],
)
def test_sizes_in_data_before_memory_is_taken(operator: str, numbers: tuple[object, ...]) -> None:
    out = Tensor(
        ScalarType.LONG, (4,), storage=np.zeros(32, np.uint8), dynamism=TensorShapeDynamism.DYNAMIC_BOUND
    )
    with pytest.raises(ExecutorchError, match="10995116277"):
        _run(operator, _indices(2**40), *numbers, out)


def test_numbers_that_are_no_memory_formats() -> None:
    with pytest.raises(Trap, match="'memory_format': expected a memory format, got 7"):
        _prepare("aten::zeros_like.out", _tensor(2), 7, _tensor(2))


def test_strides_beyond_the_elements() -> None:
    for source in (_tensor(6), Tensor(ScalarType.FLOAT, (2, 3), (1, 0), storage=np.zeros(24, np.uint8))):
        with pytest.raises(Trap, match="out of bounds for storage"):
            _prepare("aten::as_strided_copy.out", source, [2, 3], [100, 1], 0, _tensor(2, 3))


@pytest.mark.parametrize("count", [1, 3])
def test_numbers_of_outputs_that_are_not_those_of_results(count: int) -> None:
    with pytest.raises(Trap, match=f"'out': expected 2 tensors, got {count}"):
        _prepare("aten::split_with_sizes_copy.out", _tensor(6), [2, 4], 0, [_tensor(2)] * count)
