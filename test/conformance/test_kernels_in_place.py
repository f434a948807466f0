"""Operators that write to an argument, and those that ExecuTorch adds to torch's."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from kernel_oracle import blank_like, register_of, run_kernel, tensor_of

from et_schema.errors import Trap

LIBRARIES = ("portable", "aten")
pytestmark = pytest.mark.parametrize("library", LIBRARIES)


def _normal(*shape: int) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(3))


def test_copy_broadcasts_and_converts(library: str) -> None:
    target, source = torch.zeros(3, 4, dtype=torch.float64), _normal(4)
    register = register_of(target)
    run_kernel(library, "aten::copy_", (register, register_of(source), False), [])
    torch.testing.assert_close(tensor_of(register), target.copy_(source))


@pytest.mark.parametrize("accumulate", [False, True])
def test_index_put(library: str, accumulate: bool) -> None:
    target, index, values = _normal(4, 5), torch.tensor([1, 3, 1]), _normal(3, 5)
    if not accumulate:
        index = torch.tensor([1, 3, 0])
    register = register_of(target)
    arguments = (register, [register_of(index)], register_of(values), accumulate)
    run_kernel(library, "aten::index_put_", arguments, [])
    torch.testing.assert_close(tensor_of(register), target.index_put_((index,), values, accumulate))


@pytest.mark.parametrize("operator", ["aten::copy_", "aten::index_put_"])
def test_constants_are_not_written(library: str, operator: str) -> None:
    target = register_of(_normal(3), constant=True)
    rest = (register_of(_normal(3)), False)
    if operator == "aten::index_put_":
        rest = ([register_of(torch.tensor([0, 1, 2]))], *rest)
    with pytest.raises(Trap, match="'self': expected a mutable tensor"):
        run_kernel(library, operator, (target, *rest), [])


@pytest.mark.parametrize("training", [True, False])
def test_batch_norm_moves_its_running_statistics(library: str, training: bool) -> None:
    image, weight, bias = _normal(3, 4, 5, 6), _normal(4), _normal(4)
    mean, variance = _normal(4), _normal(4).abs() + 0.5
    expected = torch.native_batch_norm(
        image, weight, bias, mean.clone(), variance.clone(), training, 0.3, 1e-5
    )
    moved = [mean.clone(), variance.clone()]
    torch.native_batch_norm(image, weight, bias, *moved, training, 0.3, 1e-5)
    running = [register_of(mean), register_of(variance)]
    outs = [blank_like(result) for result in expected]
    inputs = [register_of(t) for t in (image, weight, bias)]
    run_kernel(
        library, "aten::_native_batch_norm_legit.out", (*inputs, *running, training, 0.3, 1e-5), list(outs)
    )
    for register, tensor in zip((*outs, *running), (*expected, *moved), strict=True):
        torch.testing.assert_close(tensor_of(register), tensor, rtol=1e-5, atol=1e-5)


def test_dropout_in_training_scales_what_it_keeps(library: str) -> None:
    ones = torch.ones(1000)
    out, mask = blank_like(ones), blank_like(ones.bool())
    run_kernel(library, "aten::native_dropout.out", (register_of(ones), 0.25, True), [out, mask])
    kept = tensor_of(mask)
    assert 600 < int(kept.sum()) < 900
    torch.testing.assert_close(tensor_of(out), kept / 0.75)


@pytest.mark.parametrize(
    "operator",
    ["dim_order_ops::_to_dim_order_copy.out", "dim_order_ops::_clone_dim_order.out"],
)
def test_dim_order_copies(library: str, operator: str) -> None:
    image = _normal(2, 3, 4, 5)
    for source in (image, image.contiguous(memory_format=torch.channels_last)):
        for order, layout in (([0, 2, 3, 1], torch.channels_last), ([0, 1, 2, 3], torch.contiguous_format)):
            out = blank_like(image.contiguous(memory_format=layout))
            run_kernel(library, operator, (register_of(source), False, order), [out])
            assert out.dim_order == tuple(order)
            torch.testing.assert_close(tensor_of(out), image)
    with pytest.raises(Trap, match="expected dim order"):
        run_kernel(library, operator, (register_of(image), False, [0, 2, 3, 1]), [blank_like(image)])


def test_dim_order_copy_converts(library: str) -> None:
    image = _normal(2, 3)
    out = blank_like(image.half())
    run_kernel(library, "dim_order_ops::_to_dim_order_copy.out", (register_of(image), False, None), [out])
    torch.testing.assert_close(tensor_of(out), image.half())


def test_empty_dim_order(library: str) -> None:
    out = blank_like(_normal(2, 3))
    run_kernel(library, "dim_order_ops::_empty_dim_order.out", ([2, 3], [0, 1]), [out])
    assert out.sizes == (2, 3)


@pytest.mark.parametrize("operator", ["et_copy::_h2d_copy.out", "et_copy::_d2h_copy.out"])
def test_device_copies(library: str, operator: str) -> None:
    tensor = _normal(2, 3)
    out = blank_like(tensor)
    run_kernel(library, operator, (register_of(tensor),), [out])
    torch.testing.assert_close(tensor_of(out), tensor)


def test_data_dependent_shapes_resize_in_the_step(library: str) -> None:
    """The output starts with the largest shape the planner allows for."""
    from et_schema.program import TensorShapeDynamism
    from et_vm.values import Tensor

    values = torch.tensor([[1.0, 0.0, 2.0], [0.0, 0.0, 3.0]])
    for operator, arguments, expected in (
        ("aten::nonzero.out", (values,), values.nonzero()),
        ("aten::masked_select.out", (values, values > 0), values[values > 0]),
        ("aten::index.Tensor_out", (values, [values > 1]), values[values > 1]),
    ):
        bound = (6, *expected.shape[1:])
        blank = blank_like(torch.zeros(bound, dtype=expected.dtype))
        out = Tensor(
            blank.scalar_type, bound, storage=blank.storage, dynamism=TensorShapeDynamism.DYNAMIC_BOUND
        )
        registers = tuple(
            [register_of(item) for item in argument] if isinstance(argument, list) else register_of(argument)
            for argument in arguments
        )
        run_kernel(library, operator, registers, [out])
        np.testing.assert_array_equal(tensor_of(out), expected)
